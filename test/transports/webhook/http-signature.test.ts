// HTTP Message Signatures (RFC 9421), with the algorithms and components that senders of webhooks
// use.
import assert from 'node:assert/strict'
import { constants, createHmac, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { silent } from '../../../src/core/log.ts'
import { createVerifier } from '../../../transports/deliveries/verifier.ts'
import { verify } from '../../../transports/deliveries/verify.ts'
import { startWebhook } from './harness.ts'

const NOW = Date.UTC(2026, 11, 1)
const SECRET = 'shared'
const BODY = '{"id":"evt_1"}'
const DIGEST = `sha-256=:${hash('sha256', BODY, 'base64')}:`
const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()
const ed25519 = generateKeyPairSync('ed25519')
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

/**
 * The lines of a request that are signed, by the component as it is written in `Signature-Input`.
 */
const LINES: Record<string, string> = {
  '"@method"': 'POST',
  '"@authority"': 'hooks.example.com',
  '"@scheme"': 'https',
  '"@path"': '/hooks/a',
  '"@query"': '?b=2&a=%20x%28',
  '"@query-param";name="a"': '%20x%28',
  '"@request-target"': '/hooks/a?b=2&a=%20x%28',
  '"@target-uri"': 'https://hooks.example.com/hooks/a?b=2&a=%20x%28',
  '"content-digest"': DIGEST,
  '"content-type"': 'application/json',
  '"webhook-id"': 'msg_1',
  '"idempotency-key"': 'k1',
}

type Signer = (text: Buffer) => Buffer
const byHmac: Signer = (text) => createHmac('sha256', SECRET).update(text).digest()

/** The headers of a signed request, as RFC 9421 (2.5, 4) describes them. */
function signed(components: string[], signer: Signer = byHmac, parameters = `;created=${NOW / 1000}`) {
  const input = `(${components.join(' ')})${parameters}`
  const lines = components.map((name) => `${name}: ${LINES[name] ?? ''}`)
  const text = [...lines, `"@signature-params": ${input}`].join('\n')
  return {
    'content-type': 'application/json',
    'content-digest': DIGEST,
    'webhook-id': 'msg_1',
    'idempotency-key': 'k1',
    'signature-input': `sig1=${input}`,
    signature: `sig1=:${signer(Buffer.from(text)).toString('base64')}:`,
  }
}

/** Why a request is refused; undefined if it is not. */
function judge(
  headers: Record<string, string>,
  options: object = { secret: SECRET },
  body = BODY,
  hasAddress = true,
) {
  const parsed = verify.parse({ scheme: 'http-signature', ...options })
  const address = () => (hasAddress ? 'https://hooks.example.com/hooks/a' : undefined)
  const { check } = createVerifier(parsed, { gateway: 'a', now: () => NOW, log: silent, address })
  const verdict = check({ method: 'POST', url: '/hooks/a?b=2&a=%20x%28', headers, raw: Buffer.from(body) })
  assert.ok(!(verdict instanceof Promise))
  return verdict
}

const CONTENT = ['"@method"', '"@target-uri"', '"content-digest"']

describe('verify: http-signature', () => {
  const algorithms: [name: string, key: object, signer: Signer][] = [
    ['hmac-sha256', { secret: SECRET }, byHmac],
    ['ed25519', { 'public-key': pem(ed25519.publicKey) }, (text) => sign(null, text, ed25519.privateKey)],
    [
      'ecdsa-p256-sha256',
      { 'public-key': pem(p256.publicKey) },
      (text) => sign('sha256', text, { key: p256.privateKey, dsaEncoding: 'ieee-p1363' }),
    ],
    ['rsa-v1_5-sha256', { 'public-key': pem(rsa.publicKey) }, (text) => sign('sha256', text, rsa.privateKey)],
    [
      'rsa-pss-sha512',
      { 'public-key': pem(rsa.publicKey) },
      (text) =>
        sign('sha512', text, {
          key: rsa.privateKey,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: 64,
        }),
    ],
  ]
  for (const [name, key, signer] of algorithms)
    test(`accepts ${name}, named or not, and nothing that was changed`, () => {
      const created = `;created=${NOW / 1000};keyid="k1"`
      for (const parameters of [created, `${created};alg="${name}"`]) {
        const headers = signed(CONTENT, signer, parameters)
        assert.equal(judge(headers, key), undefined)
        assert.match(judge(headers, key, `${BODY} `) ?? '', /Content-Digest belongs to another body/)
        const other = { ...headers, 'content-digest': `sha-256=:${hash('sha256', 'x', 'base64')}:` }
        assert.match(judge(other, key, 'x') ?? '', /does not match/)
      }
      const wrong = signed(
        CONTENT,
        signer,
        `${created};alg="${name === 'ed25519' ? 'hmac-sha256' : 'ed25519'}"`,
      )
      assert.match(judge(wrong, key) ?? '', /does not match/)
    })

  test('reads every part of a request that can be signed', () => {
    assert.equal(judge(signed(Object.keys(LINES))), undefined)
    const tagged = signed(CONTENT, byHmac, ` ;created=${NOW / 1000};tag="app"`.trimStart())
    assert.equal(judge(tagged, { secret: ['old', SECRET], tag: 'app' }), undefined)
    assert.match(judge(tagged, { secret: SECRET, tag: 'other' }) ?? '', /none .* tag other/)
  })

  test('accepts a request if one of its signatures fits, because a proxy may add its own', () => {
    const ours = signed(CONTENT)
    const theirs = signed(['"@method"'], () => Buffer.from('proxy'))
    const headers = {
      ...ours,
      'signature-input': `${theirs['signature-input'].replace('sig1', 'proxy')}, ${ours['signature-input']}`,
      signature: `${theirs.signature.replace('sig1', 'proxy')}, ${ours.signature}`,
    }
    assert.equal(judge(headers), undefined)
  })

  test('refuses a signature that covers too little, is old, or cannot be read, and says why', () => {
    const at = (seconds: number, more = '') => `;created=${NOW / 1000 + seconds}${more}`
    const cases: [headers: Record<string, string>, reason: RegExp, options?: object][] = [
      [{}, /no signature: the headers Signature-Input and Signature/],
      [signed(['"@method"']), /does not cover content-digest/],
      [signed(CONTENT), /does not cover webhook-id/, { secret: SECRET, signs: ['Webhook-Id'] }],
      [signed(CONTENT, byHmac, ''), /no time/],
      [signed(CONTENT, byHmac, at(-301)), /301 s old/],
      [signed(CONTENT, byHmac, at(301)), /-301 s old/],
      [signed(CONTENT, byHmac, at(-60, `;expires=${NOW / 1000 - 301}`)), /expired/],
      [signed([...CONTENT, '"x-missing"']), /covers x-missing, which this request does not have/],
      [signed([...CONTENT, '"@status"']), /covers @status/],
      [signed([...CONTENT, '"content-type";sf']), /covers content-type/],
      [signed([...CONTENT, '"@method"']), /covers @method/],
      [{ ...signed(CONTENT), signature: 'sig2=:AAAA:' }, /no signature/],
      [{ ...signed(CONTENT), 'signature-input': 'sig1=("@method' }, /no signature/],
      [signed(CONTENT), /does not match/, { secret: 'other' }],
    ]
    for (const [headers, reason, options] of cases) assert.match(String(judge(headers, options)), reason)
    assert.match(
      judge(signed(CONTENT), undefined, BODY, false) ?? '',
      /@target-uri.*set `url`, or `public-url`/,
    )
  })

  test('needs one kind of key', () => {
    const faults = (options: object) =>
      verify.safeParse({ scheme: 'http-signature', ...options }).error?.issues.map(({ message }) => message)
    assert.match(String(faults({})), /either secret or public-key/)
    assert.match(
      String(faults({ secret: 'a', 'public-key': pem(rsa.publicKey) })),
      /either secret or public-key/,
    )
    assert.match(String(faults({ 'public-key': 'x' })), /expected a public key/)
    assert.match(String(faults({ secret: 'ü', 'secret-encoding': 'hex' })), /secret in hex/)
  })

  test('takes little time to refuse a header of many spaces', () => {
    const { 'signature-input': input, signature, ...headers } = signed(['"content-digest"'])
    const spaces = ' '.repeat(15_000)
    const began = performance.now()
    for (let n = 0; n < 10; n++)
      assert.match(
        String(
          judge({ ...headers, 'signature-input': `${input}${spaces}x`, signature: `${signature}${spaces}x` }),
        ),
        /signature/,
      )
    assert.ok(performance.now() - began < 1_500)
  })

  test('verifies the sender by the body, and by the headers that every signature has to cover', async () => {
    const start = (options: object) =>
      startWebhook(
        { verify: { scheme: 'http-signature', secret: SECRET, ...options }, from: 'header.webhook-id' },
        { now: () => NOW },
      )
    const components = ['"content-digest"', '"webhook-id"']
    const lax = await start({})
    assert.equal((await lax.post(BODY, signed(components))).status, 202)
    assert.deepEqual(lax.last().from, { id: 'msg_1' })
    const strict = await start({ signs: ['webhook-id'] })
    assert.equal((await strict.post(BODY, signed(components))).status, 202)
    assert.deepEqual(strict.last().from, { id: 'msg_1', verified: true })
    // An id that is not signed could be changed, so that the same delivery would be accepted again.
    const once = await start({ signs: ['Idempotency-Key'] })
    const delivery = signed(['"content-digest"', '"idempotency-key"'])
    for (const id of ['msg_1', 'msg_2']) await once.post(BODY, { ...delivery, 'webhook-id': id })
    assert.deepEqual(
      once.store.messages.map(({ key }) => key),
      ['k1'],
    )
  })
})
