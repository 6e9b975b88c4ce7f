// The providers in docs/reference/webhook-providers.md, one by one: presets, and those with a sample
// here. The others are in more-providers.test.ts, where a provider without a sample fails. A sample
// without a provider fails, too.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before, describe, mock, test } from 'node:test'
import { parse } from 'yaml'
import { parseJson } from '../../../src/core/json.ts'
import { PAYPAL } from '../../../transports/deliveries/paypal.ts'
import { valueAt } from '../../../transports/deliveries/pointers.ts'
import type { Preset } from '../../../transports/deliveries/preset.ts'
import { PRESETS } from '../../../transports/deliveries/presets.ts'
import { SNS } from '../../../transports/deliveries/sns.ts'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { CERTIFICATE } from '../../fixtures/sns-signing.ts'
import { startWebhook } from './harness.ts'
import { LARK_SAMPLE } from './providers/lark.ts'
import { PAYPAL_SAMPLE } from './providers/paypal.ts'
import { PLAID_SAMPLE, plaidKey } from './providers/plaid.ts'
import { PRESET_SAMPLES } from './providers/presets.ts'
import { RECIPE_SAMPLES } from './providers/recipes.ts'
import { NOW, type Sample, SECRET } from './providers/sample.ts'
import { SNS_SAMPLE, SUBSCRIBE_URL } from './providers/sns.ts'
import {
  guide,
  isPreset,
  type ProviderRow,
  providerRows,
  tableBelow,
  withStranger,
} from './providers/table.ts'

const SAMPLES: Record<string, Sample> = {
  ...PRESET_SAMPLES,
  ...RECIPE_SAMPLES,
  'Amazon SNS': SNS_SAMPLE,
  'Lark, Feishu': LARK_SAMPLE,
  PayPal: PAYPAL_SAMPLE,
  Plaid: PLAID_SAMPLE,
}

const presetsByName: Record<string, Preset> = { ...PRESETS, paypal: PAYPAL, sns: SNS }

/** `key`: the place of the id in a delivery, `none` or `hash of …`. */
type Row = ProviderRow & { key: string }

/** The default keys of the presets. Providers that are not here send no id. */
const PRESET_KEYS: Record<string, string> = {
  'Amazon SNS': '`data.body.MessageId`',
  Bitbucket: '`header.x-request-uuid`',
  Calendly: 'hash of the body',
  Clerk: '`header.svix-id`',
  Discord: '`data.body.id`',
  'Front (application)': '`data.body.payload.id`',
  GitHub: '`header.x-github-delivery`',
  'Gitea, Forgejo': '`header.x-github-delivery`',
  GitLab: '`header.idempotency-key`',
  HubSpot: '`data.body.eventId`',
  Intercom: '`data.body.id`',
  'Lark, Feishu': 'ev-lark-1',
  Linear: '`header.linear-delivery`',
  Mailgun: '`data.body.signature.token`',
  'Mailgun / mail': '`data.body.token`',
  'Mailgun / mail with files': '`data.body.token`',
  'Meta (Facebook, Instagram, Messenger, WhatsApp)': 'hash of the event',
  'Microsoft Graph': '`data.body.id`',
  'OpenAI, Resend, Svix': '`header.webhook-id`',
  Paddle: '`data.body.event_id`',
  PagerDuty: '`data.body.event.id`',
  PayPal: '`header.paypal-transmission-id`',
  'SendGrid (events)': '`data.body.sg_event_id`',
  Shopify: '`header.x-shopify-webhook-id`',
  Slack: '`data.body.team_id`:`data.body.event_id`',
  Square: '`data.body.event_id`',
  Stripe: '`data.body.id`',
  'Supabase (Auth Hooks)': '`header.webhook-id`',
  Telegram: '`data.body.update_id`',
  Trello: '`data.body.action.id`',
  Twilio: '`data.body.MessageSid` `data.body.SmsStatus`',
  Typeform: '`data.body.event_id`',
  WorkOS: '`data.body.id`',
  Zendesk: '`data.body.id`',
  Zoom: 'hash of the body',
}

/** The name of the row of a sample: `Mailgun / mail` is a second sample of `Mailgun`. */
const rowOf = (sample: string) => sample.split(' / ')[0]

const names = Object.keys(SAMPLES)
const presets = providerRows()
  .filter(isPreset)
  .flatMap((row) => {
    // A row without a sample stays, so that a test fails.
    const samples = names.filter((name) => rowOf(name) === row.provider)
    return (samples.length === 0 ? [row.provider] : samples).map((name): Row => {
      const key = PRESET_KEYS[name] ?? PRESET_KEYS[row.provider] ?? 'none'
      return { ...row, provider: name, key }
    })
  })
const general = providerRows().filter((row) => !isPreset(row) && row.provider in SAMPLES)
const recipes = general.map((row): Row => {
  const { key } = row.options
  return {
    ...row,
    key:
      key === '#'
        ? 'hash of the body'
        : key === undefined
          ? 'none'
          : [key]
              .flat()
              .map((path) => `\`${path}\``)
              .join(),
  }
})
const rows = [...presets, ...recipes]

/** The key of a delivery, by the cell of the table. */
function keyOf(cell: string, headers: Record<string, string>, sent: string): string | undefined {
  if (cell === 'none') return undefined
  if (cell.startsWith('hash of the ')) return `sha256:${hash('sha256', sent)}`
  const part = /name="([^"]+)"\r\n\r\n(.*)\r\n/g
  const form = () =>
    sent.startsWith('--')
      ? Object.fromEntries(Array.from(sent.matchAll(part), ([, name = '', value = '']) => [name, value]))
      : Object.fromEntries(new URLSearchParams(sent))
  const body = /^[[{]/.test(sent) ? parseJson(sent) : (parseJson(form().payload ?? '') ?? form())
  return cell.replaceAll(/`([^`]+)`/g, (_, pointer: string) => {
    return valueAt(pointer.replace(/^data\.body\./, ''), { headers, body, text: sent }) ?? 'nothing'
  })
}

async function start(
  { verify, hasSecret, options }: Row,
  sample: Sample,
  address = 'https://hooks.example.com/',
) {
  const secret = { secret: sample.secret ?? SECRET }
  // Another address than that of the sample counts for all that sign it.
  const { url: _, ...withoutUrl } = { url: '', ...sample.userOptions }
  const isOwnAddress = address === 'https://hooks.example.com/'
  const hook = await startWebhook(
    {
      verify: { ...verify, ...(hasSecret && secret), ...(isOwnAddress ? sample.userOptions : withoutUrl) },
      ...options,
    },
    { now: () => sample.now ?? NOW, http: { publicUrl: () => address } },
  )
  const at = sample.now ?? NOW
  const type = sample.type ?? 'application/json'
  const post = async (body: string, headers: Record<string, string>) => {
    const all = { 'content-type': type, ...headers }
    const response = await fetch(hook.hook + (sample.query ?? ''), { method: 'POST', body, headers: all })
    return { status: response.status, text: await response.text() }
  }
  return { ...hook, at, type, post }
}

/** The event of the first message of a sample. */
async function eventOf(row: Row): Promise<unknown> {
  const sample = SAMPLES[row.provider]
  assert.ok(sample, row.provider)
  const { post, store, at } = await start(row, sample)
  const body = typeof sample.body === 'string' ? sample.body : JSON.stringify(sample.body)
  await post(body, await sample.sign(body, at))
  return store.messages[0]?.data.event
}

/**
 * A row of the table of events: the preset, an example of its event, the paths of event, sender and
 * conversation.
 */
const events = tableBelow('Event and sender')
  .filter(([preset]) => preset !== 'preset')
  .map(([preset = '', example = '', ...paths]) => ({ preset: plainText(preset), example, paths }))

function plainText(cell: string): string {
  return cell.replaceAll(/[`,]/g, '')
}

test('the table of events, senders and conversations agrees with the presets', () => {
  const schemes = presets.map(({ verify }) => String(verify.scheme))
  assert.deepEqual(
    events.map(({ preset }) => preset),
    [...new Set(schemes)].sort(),
  )
  for (const { preset, paths } of events) {
    const [, own = {}] = Object.entries(presetsByName).find(([name]) => name === preset) ?? []
    const { event, from, conversation = '–' } = ('split' in own && own.split) || own
    const { options = {} } = presets.find(({ verify }) => verify.scheme === preset) ?? {}
    // Some are functions, which the table describes.
    for (const [at, pointers = 'found'] of [options.event ?? event, from, conversation].entries())
      if (typeof pointers === 'string')
        assert.equal(plainText(paths[at] ?? '').replace(' with the option in the list', ''), pointers, preset)
  }
})

test('the gateways in the snippets of the webhook guides are valid', () => {
  const guides = ['webhook', 'webhook-in-depth'].map((page) =>
    readFileSync(new URL(`../../../docs/${page}.md`, import.meta.url), 'utf8'),
  )
  const snippets = Array.from(
    [...guides, guide].join('\n').matchAll(/```yaml\n(gateways:\n.*?)```/gs),
    ([, yaml = '']) => yaml,
  )
  // Some schemes need a secret in hex.
  const filled = snippets.map((yaml) => yaml.replaceAll(/\$\{\w+\}/g, '0123456789abcdef'.repeat(2)))
  const gateways = filled.flatMap((yaml) => Object.entries<object>(parse(yaml).gateways))
  assert.ok(gateways.length >= 6)
  for (const [name, gateway] of gateways) {
    const { transport, enabled: _, ...options }: { transport?: string; enabled?: unknown } = gateway
    assert.equal(transport, 'webhook', name)
    assert.equal(webhookOptions.safeParse(options).error, undefined, name)
  }
})

const has = ({ notes }: Row, mark: RegExp) => notes.some((note) => mark.test(note))
const challengeOf = ({ options }: Row) =>
  'challenge' in options ? `answers ${JSON.stringify(options.challenge)}` : undefined

test('a provider links to its own documentation', () => {
  const all = providerRows()
  const links = all.flatMap(({ documentation }) => documentation)
  assert.equal(new Set(links).size, links.length, 'two providers have the same link')
  for (const link of links) assert.match(link, /^https:\/\/[\w.-]+\.\w+\//)
  const named = all.filter(({ documentation }) => documentation.length > 0)
  assert.ok(named.length > 0.9 * all.length, `${named.length} of ${all.length} providers have a link`)
})

test('what the reader has to replace in a gateway is in capitals', () => {
  for (const { provider, verify } of providerRows())
    assert.doesNotMatch(JSON.stringify(verify), /[0-9a-f]{12}|\d{6}|…|example/, provider)
})

describe('a provider in docs/reference/webhook-providers.md', () => {
  const realFetch = fetch
  const fetched: string[] = []
  before(() => {
    mock.method(globalThis, 'fetch', async (address: string | URL, init?: RequestInit) => {
      const { href, hostname } = new URL(String(address))
      if (hostname.endsWith('.plaid.com')) return plaidKey(Object(parseJson(String(init?.body))).key_id)
      if (!/\.(?:amazonaws|paypal)\.com$/.test(hostname)) return realFetch(address, init)
      fetched.push(href)
      return new Response(/\.pem$|\/certs\//.test(href) ? CERTIFICATE : '<ConfirmSubscriptionResponse/>')
    })
  })
  after(() => mock.restoreAll())

  test('has a sample in these tests, and each sample has a provider', () => {
    assert.deepEqual(rows.map(({ provider }) => provider).sort(), Object.keys(SAMPLES).sort())
    assert.ok(rows.length >= 25)
  })

  for (const row of rows) {
    const sample = SAMPLES[row.provider]
    if (!sample) continue
    test(`${row.provider}: its delivery is accepted once, by its key, and refused if a signed header differs`, async () => {
      const { post, store, at } = await start(row, sample)
      const body = typeof sample.body === 'string' ? sample.body : JSON.stringify(sample.body)
      const headers = await sample.sign(body, at)
      const accepted = await post(body, headers)
      assert.ok(accepted.status < 300, accepted.text)
      const [message] = store.messages
      const event = message?.data.split ? JSON.stringify(message.data.body) : body
      const key = keyOf(row.key, headers, event)
      assert.equal(
        message?.key,
        Array.isArray(row.options.key) ? JSON.stringify(key?.split(',')) : key,
        'the key',
      )
      const isSplit = has(row, /^split$/) || 'split' in row.options
      assert.equal(isSplit, message?.data.split !== undefined, 'the mark "split"')
      assert.equal(has(row, /^no id$/), row.key === 'none', 'the mark "no id"')
      assert.equal(has(row, /^id is a hash/), row.key.startsWith('hash of '), 'the mark "id is a hash"')
      const count = store.messages.length
      if (message?.key !== undefined) {
        const repeated = await post(body, headers)
        if (!('answer' in row.options)) assert.match(repeated.text, /duplicate|<Response>|"type"/)
        assert.equal(store.messages.length, count)
      }
      for (const name of Object.keys(headers)) {
        if (
          /delivery-id|event-id|webhook-id|identifier|uuid|delivery$|event$|idempotency|message-type|event-key$|topic$|shop-domain$|resource$/.test(
            name,
          )
        )
          continue
        if (name.endsWith('-secondary')) continue
        const answer = await post(body, { ...headers, [name]: `${headers[name]}`.slice(1, -1) })
        assert.equal(answer.status, 401, `${name}: ${answer.text}`)
      }
      assert.equal(store.messages.length, count)
    })

    test(`${row.provider}: its marks are right`, async () => {
      const body = typeof sample.body === 'string' ? sample.body : JSON.stringify(sample.body)
      const { post, at, store } = await start(row, sample)
      const headers = await sample.sign(body, at)
      await post(body, headers)
      const stranger = await start(row, sample)
      const isWhole = (await stranger.post(withStranger(body), headers)).status === 401
      const isSigned = [store, ...(isWhole ? [] : [stranger.store])].every(
        ({ messages }) => messages.at(-1)?.from.verified,
      )
      assert.equal(has(row, /^sender not verified$/), !isSigned, 'the mark "sender not verified"')
      const elsewhere = await start(row, sample, 'https://other.example.com/')
      const { status } = await elsewhere.post(body, headers)
      assert.equal(has(row, /^signs the address$/), status === 401, 'the mark "signs the address"')
      assert.equal(row.isCompared, sample.comparedWith !== undefined, 'the mark ✓')
    })

    const handshake = row.notes.find((note) => /^(answers|confirms) /.test(note)) ?? challengeOf(row)
    if (handshake !== undefined) {
      test(`${row.provider}: ${handshake}, and accepts no message for it`, async () => {
        assert.ok(sample.handshake, 'the column also')
        const { post, hook, at, store } = await start(row, sample)
        await sample.handshake({ hook, at, post: async (body) => post(body, await sample.sign(body, at)) })
        assert.equal(store.messages.length, 0)
      })
    } else
      test(`${row.provider}: sends no check before its first delivery`, () =>
        assert.equal(sample.handshake, undefined))
  }

  for (const { preset, example } of events) {
    test(`${preset}: its deliveries have the event ${example}`, async () => {
      const seen = await Promise.all(
        presets.filter(({ verify }) => verify.scheme === preset).map((row) => eventOf(row)),
      )
      const wanted = example.split(', ').map(plainText)
      assert.ok(
        wanted.some((event) => seen.includes(event)),
        `${example} is not in ${seen.join(', ')}`,
      )
    })
  }

  test('Amazon SNS: the gateway fetches the URL that confirms the subscription', () => {
    assert.ok(fetched.includes(new URL(SUBSCRIBE_URL).href))
  })
})
