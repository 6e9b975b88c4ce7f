// Signatures made by others: test vectors of providers' libraries and documentation, in addition to
// those in providers/.
import assert from 'node:assert/strict'
import { createHmac, hash } from 'node:crypto'
import { describe, test } from 'node:test'
import { silent } from '../../../src/core/log.ts'
import { createVerifier } from '../../../transports/deliveries/verifier.ts'
import { verify } from '../../../transports/deliveries/verify.ts'

type Request = { body: string; headers: Record<string, string>; query?: string; now?: number }

/** Whether the signature of a delivery is accepted. */
function isAccepted(options: object, { body, headers, query = '', now = Date.now() }: Request): boolean {
  const address = () => 'https://hooks.example.com/hooks/a'
  const verifier = createVerifier(verify.parse(options), {
    gateway: 'a',
    now: () => now,
    log: silent,
    address,
  })
  const url = `/hooks/a${query}`
  const verdict = verifier.check({ method: 'POST', url, headers, raw: Buffer.from(body) })
  assert.ok(!(verdict instanceof Promise))
  return verdict === undefined
}

describe('a delivery of Box', () => {
  const options = {
    scheme: 'hmac',
    header: 'Box-Signature-Primary',
    encoding: 'base64',
    'timestamp-header': 'Box-Delivery-Timestamp',
    template: '{body}{timestamp}',
  }
  const body =
    '{"type":"webhook_event","webhook":{"id":"1234567890"},"trigger":"FILE.UPLOADED","source":{"id":"1234567890","type":"file","name":"Test.txt"}}'
  const headers = {
    'box-delivery-timestamp': '2020-01-01T00:00:00-07:00',
    'box-signature-primary': '6TfeAW3A1PASkgboxxA5yqHNKOwFyMWuEXny/FPD5hI=',
    'box-signature-secondary': 'v+1CD1Jdo3muIcbpv5lxxgPglOqMfsNHPV899xWYydo=',
  }
  const now = Date.parse('2020-01-01T07:04:00Z')

  test('is accepted with either key of the test vectors, until it is too old', () => {
    const primary = { ...options, secret: 'SamplePrimaryKey' }
    const secondary = { ...options, header: 'Box-Signature-Secondary', secret: 'SampleSecondaryKey' }
    assert.ok(isAccepted(primary, { body, headers, now }))
    assert.ok(isAccepted(secondary, { body, headers, now }))
    assert.ok(!isAccepted({ ...primary, secret: 'IncorrectKey' }, { body, headers, now }))
    assert.ok(!isAccepted(primary, { body, headers, now: now + 120_000 }))
  })
})

describe('a delivery of Twilio', () => {
  const token = '12345'
  const form = 'CallSid=CA1&To=%2B18005551212'
  const fields = 'CallSidCA1To+18005551212'
  const signed = (text: string) => ({
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': createHmac('sha1', token).update(text).digest('base64'),
  })
  const isGood = (url: string, query: string, signedAddress: string, body = form, more = fields) =>
    isAccepted(
      { scheme: 'twilio', secret: token, url },
      { body, query, headers: signed(signedAddress + more) },
    )

  test('is accepted if the address is signed with or without its port, as sent or normalised', () => {
    const cases: [url: string, query: string, signed: string][] = [
      ['https://mycompany.com/my.php', '', 'https://mycompany.com/my.php'],
      ['https://mycompany.com/my.php', '', 'https://mycompany.com:443/my.php'],
      ['https://mycompany.com:8443/my.php', '', 'https://mycompany.com/my.php'],
      ['https://mycompany.com:8443/my.php', '', 'https://mycompany.com:8443/my.php'],
      ['https://MyCompany.com/my.php', '', 'https://mycompany.com/my.php'],
      ['https://mycompany.com/my.php', "?name=O'Neil", "https://mycompany.com/my.php?name=O'Neil"],
      ['https://mycompany.com/my.php', "?name=O'Neil", 'https://mycompany.com/my.php?name=O%27Neil'],
      ['https://mycompany.com/my.php', '?a=%28b%29&c', 'https://mycompany.com/my.php?a=(b)&c='],
      ['https://mycompany.com/my.php', '?a=1@2', 'https://mycompany.com:443/my.php?a=1%402'],
    ]
    for (const each of cases) assert.ok(isGood(...each), each.join(' '))
  })

  test('is refused if another host, path, scheme or order of the query is signed', () => {
    const url = 'https://mycompany.com/my.php'
    assert.ok(!isGood(url, '', 'https://mycompany.com.example.net/my.php'))
    assert.ok(!isGood(url, '', 'https://mycompany.com/other.php'))
    assert.ok(!isGood(url, '?a=1&b=2', 'https://mycompany.com/my.php?b=2&a=1'))
    assert.ok(!isGood(url, '', 'http://mycompany.com/my.php'))
  })

  test('with JSON is accepted if the query has the SHA-256 of the body', () => {
    const body = '{"property": "value", "boolean": true}'
    const sum = hash('sha256', body)
    const url = 'https://mycompany.com/myapp.php'
    for (const query of [
      `?bodySHA256=${sum}`,
      `?foo=1&bar=2&bodySHA256=${sum}`,
      `?bodySHA256=${sum}&foo=1`,
    ]) {
      assert.ok(isGood(url, query, `${url}${query}`, body, ''), query)
      assert.ok(!isGood(url, query, `${url}${query}`, `${body} `, ''), query)
      assert.ok(!isGood(url, query, `${url}${query}`, form, fields), query)
    }
    assert.ok(!isGood(url, `?bodySHA256=${sum.toUpperCase()}`, `${url}?bodySHA256=${sum}`, body, ''))
  })
})
