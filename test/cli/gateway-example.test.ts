// `trivium gateway example`: what it prints for each provider is valid, and accepts the signed
// sample of the provider.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, mock, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { parseJson } from '../../src/core/json.ts'
import { PROVIDER_EXAMPLES } from '../../transports/webhook/examples/all.ts'
import { openSite } from '../fixtures/daemon.ts'
import { CERTIFICATE } from '../fixtures/sns-signing.ts'
import { LARK_SAMPLE } from '../transports/webhook/providers/lark.ts'
import { OTHER_SAMPLES } from '../transports/webhook/providers/others.ts'
import { PAYPAL_SAMPLE } from '../transports/webhook/providers/paypal.ts'
import { PLAID_SAMPLE, plaidKey } from '../transports/webhook/providers/plaid.ts'
import { PRESET_SAMPLES } from '../transports/webhook/providers/presets.ts'
import { RECIPE_SAMPLES } from '../transports/webhook/providers/recipes.ts'
import { ADDRESS, type Sample, SECRET } from '../transports/webhook/providers/sample.ts'
import { SNS_SAMPLE } from '../transports/webhook/providers/sns.ts'
import { reference, yamlBelow } from '../transports/webhook/providers/table.ts'

const SAMPLES: Record<string, Sample> = {
  ...PRESET_SAMPLES,
  ...RECIPE_SAMPLES,
  'Amazon SNS': SNS_SAMPLE,
  'Lark, Feishu': LARK_SAMPLE,
  PayPal: PAYPAL_SAMPLE,
  Plaid: PLAID_SAMPLE,
}
const ids = PROVIDER_EXAMPLES.map(({ id }) => id)

type Delivery = { body: string; headers: Record<string, string>; query: string }
type Printed = { provider: string; yaml: string; variables: Record<string, string>; gateway: string }

/** A delivery as the provider signs it. */
async function deliveryOf(provider: string): Promise<Delivery> {
  const other = OTHER_SAMPLES[provider]
  if (other) {
    const { body, headers = {}, query = '' } = await other.delivery
    return { body, headers: { 'content-type': 'application/json', ...headers }, query }
  }
  const sample = SAMPLES[provider]
  assert.ok(sample, `${provider} has a sample`)
  const { now = Date.now(), type = 'application/json', query = '' } = sample
  const body = typeof sample.body === 'string' ? sample.body : JSON.stringify(sample.body)
  return { body, headers: { 'content-type': type, ...(await sample.sign(body, now)) }, query }
}

/** What the samples sign differs from a real installation: addresses, topics and keys. */
function optionsOf(provider: string, verify: Record<string, unknown>): Record<string, unknown> {
  const { userOptions = {} } = OTHER_SAMPLES[provider] ?? SAMPLES[provider] ?? {}
  const { now } = SAMPLES[provider] ?? {}
  return {
    ...(verify.audience !== undefined && { audience: 'https://HOST/PATH' }),
    ...(['trello', 'hubspot'].includes(String(verify.scheme)) && { url: ADDRESS }),
    ...(JSON.stringify(verify).includes('{url}') && { url: ADDRESS }),
    ...(now !== undefined && { tolerance: '3650d' }),
    ...userOptions,
  }
}

describe('gateway example', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: 'include: [routes.d/*.yaml]' })
  const run = (...words: string[]) => site.run(['gateway', 'example', ...words])
  const printed = new Map<string, Printed>()

  test('prints a valid gateway and route for each provider, as the reference has it', async () => {
    for (const id of ids) {
      const { code, out, err } = await run(id)
      assert.equal(code, 0, err)
      site.write(`routes.d/${id}.yaml`, out)
      printed.set(id, JSON.parse((await run(id, '--json')).out))
      assert.ok(out.endsWith(`${printed.get(id)?.yaml}\n`), id)
      assert.equal(yamlBelow(reference, printed.get(id)?.provider ?? ''), `${printed.get(id)?.yaml}\n`)
      for (const line of out.split('\n').filter((each) => each.startsWith('#')))
        assert.ok(line.length <= 100 || !line.includes(' ', 60), `${id}: ${line}`)
    }
    const { code, out } = await site.run(['route', 'check', '--json'])
    const { problems } = JSON.parse(out)
    assert.deepEqual(
      [code, problems.filter(({ severity }: { severity: string }) => severity === 'error')],
      [0, []],
    )
    const { out: text } = await site.run(['route', 'list', '--json'])
    assert.deepEqual(
      JSON.parse(text)
        .map(({ name }: { name: string }) => name)
        .sort(),
      ids.toSorted(),
    )
  })

  test('names every variable of the gateway', () => {
    for (const [id, { yaml, variables }] of printed) {
      const used = Array.from(yaml.matchAll(/\$\{(\w+)\}/g), ([, name = '']) => name)
      assert.deepEqual(
        [...new Set(used)].filter((name) => !Object.hasOwn(variables, name)),
        [],
        id,
      )
    }
  })

  describe('the printed gateway', () => {
    const realFetch = fetch
    before(() => {
      mock.method(globalThis, 'fetch', async (address: string | URL, init?: RequestInit) => {
        const { hostname, href } = new URL(String(address))
        if (hostname.endsWith('.plaid.com')) return plaidKey(Object(parseJson(String(init?.body))).key_id)
        if (!/\.(?:amazonaws|paypal)\.com$/.test(hostname)) return realFetch(address, init)
        return new Response(/\.pem$|\/certs\//.test(href) ? CERTIFICATE : '<ConfirmSubscriptionResponse/>')
      })
    })
    after(() => mock.restoreAll())

    test('accepts the signed sample of each provider, and refuses a delivery without its signature', async () => {
      const env: Record<string, string> = { TRIVIUM_PUBLIC_URL: 'https://hooks.example.com' }
      for (const { id, name, variables: others = {} } of PROVIDER_EXAMPLES) {
        const { yaml, variables } = printed.get(id) ?? assert.fail(id)
        const { secret = SECRET } = OTHER_SAMPLES[name] ?? SAMPLES[name] ?? {}
        for (const variable of Object.keys(variables))
          if (variable !== 'TRIVIUM_PUBLIC_URL')
            env[variable] = Object.hasOwn(others, variable) ? variable : secret
        const own = parse(yaml)
        const { verify } = own.gateways[id]
        Object.assign(verify, optionsOf(name, verify))
        site.write(`routes.d/${id}.yaml`, stringify(own))
      }
      const daemon = await site.start(env)
      for (const { id, name } of PROVIDER_EXAMPLES) {
        const { body, headers, query } = await deliveryOf(name)
        const path = `/hooks/${id}${query}`
        const response = await fetch(daemon.url + path, { method: 'POST', body, headers })
        const text = await response.text()
        assert.ok(response.ok, `${id}: ${response.status} ${text}`)
        const unsigned = await fetch(`${daemon.url}/hooks/${id}`, { method: 'POST', body: '{}' })
        assert.equal(unsigned.status, 401, id)
      }
      for (const id of ids)
        assert.notDeepEqual(await daemon.invoke('message-list', { gateway: id }), [], `${id} has a message`)
    })
  })

  test('takes another name, path and address, and a name of several providers', async () => {
    const { out } = await run('Resend', '--url', 'https://hooks.example.com/', '--json')
    const { gateway, address, variables, yaml, documentation } = JSON.parse(out)
    assert.deepEqual([gateway, address], ['resend', 'https://hooks.example.com/hooks/resend'])
    assert.deepEqual(Object.keys(variables), ['RESEND_SECRET'])
    assert.match(yaml, /event: email\.delivered/)
    const { out: waiting } = await run('monday')
    assert.match(waiting, /audience: "\$\{TRIVIUM_PUBLIC_URL\}\/hooks\/monday"/)
    assert.match(waiting, /^#\s+TRIVIUM_PUBLIC_URL=…/m)
    const monday = await run('monday', '--url', 'https://hooks.example.com')
    assert.match(monday.out, /audience: "https:\/\/hooks\.example\.com\/hooks\/monday"/)
    assert.deepEqual(documentation, ['https://resend.com/docs/dashboard/webhooks/introduction'])
    const named = await run('square', '--name', 'shop-2', '--path', '/in/shop')
    assert.match(named.out, /^ {2}shop-2:\n {4}transport: webhook\n {4}path: \/in\/shop$/m)
    assert.match(named.out, /^#\s+SHOP_2_SECRET=…/m)
    assert.match(named.out, /^#\s+TRIVIUM_PUBLIC_URL=…/m)
    const digits = JSON.parse((await run('stripe', '--name', '1e3', '--json')).out)
    assert.deepEqual(Object.keys(parse(digits.yaml).gateways), ['1e3'])
    // The name of a variable cannot begin with a digit.
    assert.deepEqual(Object.keys(digits.variables), ['STRIPE_1E3_SECRET'])
    assert.match(digits.yaml, /\$\{STRIPE_1E3_SECRET\}/)
    const known = await site.run(['gateway', 'example', 'square'], {
      TRIVIUM_PUBLIC_URL: 'https://a.example.com',
    })
    assert.match(known.out, /^#\s+https:\/\/a\.example\.com\/hooks\/square$/m)
    assert.doesNotMatch(known.out, /TRIVIUM_PUBLIC_URL=/)
  })

  test('the gateway of a chat can answer, and its notes name the skill', async () => {
    const page = readFileSync(new URL('../../docs/chats.md', import.meta.url), 'utf8')
    const anchors = Array.from(page.matchAll(/^##+ (.+)$/gm), ([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    )
    for (const { id, chats = {} } of PROVIDER_EXAMPLES)
      for (const { section } of Object.values(chats)) assert.ok(anchors.includes(section), id)
    for (const [name, options, section] of [
      ['telegram', { respond: 'result', timeout: '10s', text: 'data.body.message.text' }, 'telegram'],
      ['discord', { respond: 'result', timeout: '2s', text: 'data.body.data.options.0.value' }, 'discord'],
      ['microsoft-teams', { respond: 'result', timeout: '4s', text: 'data.body.text' }, 'microsoft-teams'],
      ['twilio', { respond: 'result', timeout: '10s', text: 'data.body.Body' }, 'twilio'],
      ['whatsapp', { text: 'value.messages.0.text.body' }, 'whatsapp'],
      ['instagram', { text: 'message.text' }, 'messenger-and-instagram'],
      ['facebook', {}, undefined],
    ] as const) {
      const { yaml, notes }: { yaml: string; notes: string[] } = JSON.parse((await run(name, '--json')).out)
      const { respond, timeout, text } = parse(yaml).gateways[name]
      assert.deepEqual({ ...(respond && { respond, timeout }), ...(text && { text }) }, options, name)
      const place = notes.map((note) => /docs\/chats\.md#([\w-]+)/.exec(note)?.[1]).find(Boolean)
      assert.equal(place, section, name)
    }
  })

  test('lists the providers, also those with a word, and suggests a similar name', async () => {
    const all: { name: string }[] = JSON.parse((await run('--json')).out)
    assert.deepEqual(
      all.map(({ name }) => name),
      ids,
    )
    const { out } = await run('--search', 'pay')
    assert.match(out, /^paypal\s.*\npaystack\s.*\nrazorpay\s+Razorpay\s+✓/m)
    for (const [wrong, near] of [
      ['strpe', 'stripe'],
      ['lemonsqueezy', 'lemon-squeezy'],
      ['squeezy', 'lemon-squeezy'],
      ['stripe-connect', 'stripe'],
    ] as const) {
      const { code, err } = await run(wrong)
      assert.equal(code, 1)
      assert.match(err, new RegExp(`Did you mean ${near}\\?`))
    }
    // Their letters contain x and line, which are other providers.
    for (const other of ['maxio', 'pipeline']) assert.doesNotMatch((await run(other)).err, /Did you mean/)
    for (const line of [
      ['stripe', '--path', 'x'],
      ['stripe', '--name', 'a b'],
      ['stripe', '--url', 'host'],
      ['--name', 'a'],
    ])
      assert.equal((await run(...line)).code, 2, line.join(' '))
  })

  test('the other verbs of gateway still work', async () => {
    const { code, out } = await site.run(['gateway', '--help'])
    assert.equal(code, 0)
    assert.match(out, /^ {2}example \[provider\]/m)
    assert.match(out, /^ {2}pause/m)
  })
})
