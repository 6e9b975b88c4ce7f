// The table of providers in docs/webhook-providers.md, row by row. A row without a sample fails, and so does a sample without a row.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before, describe, mock, test } from 'node:test'
import { parse } from 'yaml'
import { parseJson } from '../../../src/core/json.ts'
import { found } from '../../../transports/deliveries/pointers.ts'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { CERTIFICATE } from '../../fixtures/sns-signing.ts'
import { startWebhook } from './harness.ts'
import { PRESET_SAMPLES } from './providers/presets.ts'
import { RECIPE_SAMPLES } from './providers/recipes.ts'
import { FORM, NOW, type Sample, SECRET } from './providers/sample.ts'
import { SNS_SAMPLE, SUBSCRIBE_URL } from './providers/sns.ts'

const SAMPLES: Record<string, Sample> = { ...PRESET_SAMPLES, ...RECIPE_SAMPLES, 'Amazon SNS': SNS_SAMPLE }

type Row = { provider: string; verify: Record<string, unknown>; body: string; key: string; handshake: string }

const text = readFileSync(new URL('../../../docs/webhook-providers.md', import.meta.url), 'utf8')
const [, table = ''] = text.split('## The table')
const rows: Row[] = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| provider') && !line.startsWith('| ---'))
  .map((line) => {
    const [, provider = '', verify = '', body = '', key = '', handshake = ''] = line
      .split(' | ')
      .join('|')
      .split('|')
    const [, yaml] = /^`(.*)`$/.exec(verify.trim()) ?? []
    return {
      provider: provider.trim(),
      verify: yaml === undefined ? verifyBelow(provider.trim()) : parse(yaml),
      body,
      key: key.trim(),
      handshake: handshake.trim(),
    }
  })

/** The `verify` of a gateway in the section of a provider, without its secret. */
function verifyBelow(provider: string): Record<string, unknown> {
  const [, section = ''] = text.split(`\n## ${provider}\n`)
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(section) ?? []
  const gateways: Record<string, { verify: Record<string, unknown> }> = parse(yaml).gateways
  const { secret: _, ...verify } = gateways[provider.toLowerCase()]?.verify ?? {}
  return verify
}

const TYPES: Record<string, string> = {
  JSON: 'application/json',
  form: FORM,
  multipart: 'multipart/form-data; boundary=xYzZY',
  'JSON as text/plain': 'text/plain; charset=UTF-8',
}

/** What a cell of the column `key` says of a delivery. */
function keyIn(cell: string, headers: Record<string, string>, sent: string): string | undefined {
  if (cell === '–') return undefined
  if (cell.startsWith('hash of the ')) return `sha256:${hash('sha256', sent)}`
  const part = /name="([^"]+)"\r\n\r\n(.*)\r\n/g
  const form = () =>
    sent.startsWith('--')
      ? Object.fromEntries(Array.from(sent.matchAll(part), ([, name = '', value = '']) => [name, value]))
      : Object.fromEntries(new URLSearchParams(sent))
  const body = /^[[{]/.test(sent) ? parseJson(sent) : (parseJson(form().payload ?? '') ?? form())
  return cell.replaceAll(/`([^`]+)`/g, (_, pointer: string) => {
    return found(pointer.replace(/^data\.body\./, ''), { headers, body, text: sent }) ?? 'nothing'
  })
}

async function start({ verify, key }: Row, sample: Sample) {
  const isPreset = !['hmac', 'jwt', 'basic', 'bearer', 'header'].includes(String(verify.scheme))
  const secret = { secret: sample.secret ?? SECRET }
  const needsSecret = verify.jwks === undefined && verify.scheme !== 'sns'
  const pointer = isPreset || key === '–' ? {} : { key: key.replaceAll('`', '') }
  const hook = await startWebhook(
    { verify: { ...verify, ...(needsSecret && secret), ...sample.own }, ...pointer },
    { now: () => sample.now ?? NOW, http: { publicUrl: () => 'https://hooks.example.com/' } },
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

test('each gateway in the snippets of docs/webhook.md is one that can be', () => {
  const guide = readFileSync(new URL('../../../docs/webhook.md', import.meta.url), 'utf8')
  const snippets = Array.from(
    `${guide}${text}`.matchAll(/```yaml\n(gateways:\n.*?)```/gs),
    ([, yaml = '']) => yaml,
  )
  // In hex, as some schemes need it.
  const filled = snippets.map((yaml) => yaml.replaceAll(/\$\{\w+\}/g, '0123456789abcdef'.repeat(2)))
  const gateways = filled.flatMap((yaml) => Object.entries<object>(parse(yaml).gateways))
  assert.ok(gateways.length >= 6)
  for (const [name, gateway] of gateways) {
    const { transport, ...options }: { transport?: string } = gateway
    assert.equal(transport, 'webhook', name)
    assert.equal(webhookOptions.safeParse(options).error, undefined, name)
  }
})

describe('a provider in docs/webhook-providers.md', () => {
  const realFetch = fetch
  const asked: string[] = []
  before(() => {
    mock.method(globalThis, 'fetch', async (address: string | URL, init?: RequestInit) => {
      const { href, hostname } = new URL(String(address))
      if (!hostname.endsWith('.amazonaws.com')) return realFetch(address, init)
      asked.push(href)
      return new Response(href.endsWith('.pem') ? CERTIFICATE : '<ConfirmSubscriptionResponse/>')
    })
  })
  after(() => mock.restoreAll())

  test('has a sample each, and each sample has a row; there are more than 25', () => {
    assert.deepEqual(rows.map(({ provider }) => provider).sort(), Object.keys(SAMPLES).sort())
    assert.ok(rows.length >= 25)
  })

  for (const row of rows) {
    const sample = SAMPLES[row.provider]
    if (!sample) continue
    test(`${row.provider}: is taken once, under the key that the table names, and not when it was changed`, async () => {
      const { post, store, at, type } = await start(row, sample)
      const body = typeof sample.body === 'string' ? sample.body : JSON.stringify(sample.body)
      const headers = await sample.sign(body, at)
      assert.equal(TYPES[row.body.replace(', a list', '').trim()], type, 'the column body')
      assert.equal(/, a list/.test(row.body), body.startsWith('['), 'the column body')
      const taken = await post(body, headers)
      assert.ok(taken.status < 300, taken.text)
      const [message] = store.messages
      const event = message?.data.split ? JSON.stringify(message.data.body) : body
      assert.equal(message?.key, keyIn(row.key, headers, event), 'the column key')
      const count = store.messages.length
      // These sign a few fields, or a token: nothing that names a sender.
      const isPartial = /^(Adyen|Mailgun)/.test(row.provider)
      assert.equal(message?.from.verified, isPartial ? undefined : true)
      if (message?.key !== undefined) {
        assert.match((await post(body, headers)).text, /duplicate|<Response>|"type"/)
        assert.equal(store.messages.length, count)
      }
      const before = store.messages.length
      for (const name of Object.keys(headers)) {
        if (
          /delivery-id|event-id|webhook-id|identifier|uuid|delivery$|event$|idempotency|message-type/.test(
            name,
          )
        )
          continue
        if (name.endsWith('-secondary')) continue
        const answer = await post(body, { ...headers, [name]: `${headers[name]}`.slice(1, -1) })
        assert.equal(answer.status, 401, `${name}: ${answer.text}`)
      }
      assert.equal(store.messages.length, before)
    })

    if (row.handshake !== '–') {
      test(`${row.provider}: ${row.handshake}, and accepts nothing for it`, async () => {
        assert.ok(sample.handshake, 'the column handshake')
        const { post, hook, at, store } = await start(row, sample)
        await sample.handshake({ hook, at, post: async (body) => post(body, await sample.sign(body, at)) })
        assert.equal(store.messages.length, 0)
      })
    } else
      test(`${row.provider}: asks nothing before its first delivery`, () =>
        assert.equal(sample.handshake, undefined))
  }

  test('Amazon SNS: is asked for its certificate, and to confirm', () => {
    assert.ok(asked.includes(new URL(SUBSCRIBE_URL).href))
  })
})
