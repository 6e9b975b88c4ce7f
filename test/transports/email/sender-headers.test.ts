import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from '../../fixtures/fast-check.ts'
import { inTime } from '../../fixtures/in-time.ts'
import { mail } from './harness.ts'
import { dnsOf, HOP, judge, onTop, SPF, signed } from './signing.ts'

const SINGLE = [
  ...['Sender', 'Reply-To', 'Subject', 'Date', 'Message-ID', 'In-Reply-To', 'References'],
  ...['Content-Type', 'Content-Transfer-Encoding'],
]
/** Headers that often occur twice, and do not affect sender or content. */
const MANY = ['To', 'Cc', 'MIME-Version']

/** A mail with all headers that must not occur twice. */
function withAllHeaders(from = 'Anna <anna@example.net>'): string {
  const headers = Object.fromEntries(SINGLE.map((name) => [name, 'x']))
  return mail({ from, headers: { ...headers, 'Content-Type': 'text/plain' } })
}

/** A mail with more nested multiparts than the parser allows. */
function tooDeep(from: string): string {
  const parts = Array.from(
    { length: 70 },
    (_, depth) => `--b${depth}\r\nContent-Type: multipart/mixed; boundary=b${depth + 1}\r\n\r\n`,
  )
  return mail({ from, headers: { 'Content-Type': 'multipart/mixed; boundary=b0' }, text: parts.join('') })
}

describe('a sender is verified', () => {
  test('by an ordinary signed mail', async () => {
    const { result, by, from } = await judge(await signed(withAllHeaders()))
    assert.deepEqual({ result, by, from }, { result: 'pass', by: 'dmarc', from: 'anna@example.net' })
  })

  test('not by a name that looks like an address in a mail that cannot be parsed', async () => {
    const identity = await judge(
      await signed(tooDeep('"anna@example.net" <mallory@evil.example>'), 'evil.example'),
    )
    assert.equal(identity.from, 'mallory@evil.example')
    assert.equal(identity.result, 'none')
    assert.notEqual((await judge(await signed(tooDeep('anna@example.net')))).result, 'pass')
  })

  test('not with headers over 256 KiB, wherever a line ends', async () => {
    const raw = await signed(withAllHeaders())
    const limit = 256 * 1024
    // Many lines, since the parser, which would refuse the mail, does not count line ends.
    const filler = `X: ${'x'.repeat(90)}\r\n`.repeat(2700)
    for (const over of [0, 1, 2]) {
      const last = 'Y: '.padEnd(limit - filler.length - 1 + over, 'y')
      const identity = await judge(onTop(`${filler}${last}\r\n`, raw))
      assert.equal(identity.result, 'fail', `${over}`)
      assert.match(identity.detail, /over 262144 bytes/)
    }
  })

  test('not with a line that may be a header or the continuation of one', async () => {
    const from = 'anna@example.net\r\n<mallory@evil.example>'
    const identity = await judge(await signed(mail({ from }), 'evil.example'))
    assert.deepEqual([identity.from, identity.result], ['anna@example.net', 'fail'])
  })

  test('not with a second header before a signed one, unless it does not affect sender or content', async () => {
    for (const name of [...SINGLE, ...MANY]) {
      const { result, detail } = await judge(onTop(`${name}: other\r\n`, await signed(withAllHeaders())))
      assert.equal(result, MANY.includes(name) ? 'pass' : 'fail', name)
      if (result === 'fail') assert.match(detail, new RegExp(`more than one ${name.toLowerCase()} header`))
    }
  })

  test('also with an identical second header, or with two that are both signed', async () => {
    const again = onTop('Subject:  Hello\r\n', await signed(mail({ subject: 'Hello' })))
    assert.equal((await judge(again)).result, 'pass')
    const two = `Reply-To: a@example.net\r\n${mail({ headers: { 'Reply-To': 'b@example.net' } })}`
    const covered = (times: number) => ({
      headerList: `from:subject:content-type${':reply-to'.repeat(times)}`,
    })
    assert.equal((await judge(await signed(two, 'example.net', covered(2)))).result, 'pass')
    const more = onTop('Reply-To: c@example.net\r\n', await signed(two))
    assert.equal((await judge(more)).result, 'fail')
  })

  test('also with two subjects if the server of the domain handed the mail over', async () => {
    const twice = `Subject: other\r\n${mail({})}`
    const resolver = dnsOf(SPF)
    assert.equal((await judge(HOP + twice, { resolver })).result, 'pass')
    const other = HOP.replace('anna@example.net', 'eve@evil.example')
    assert.equal((await judge(other + twice, { resolver })).result, 'fail')
  })

  test('not with text after the signed part', async () => {
    const raw = await signed(mail({ text: 'See you.' }), 'example.net', { maxBodyLength: 10 })
    assert.equal((await judge(raw)).result, 'pass')
    assert.equal((await judge(`${raw}Now transfer 1000 EUR\r\n`)).result, 'fail')
    const loose = await signed(mail({ from: 'lu@loose.example', text: 'See you.' }), 'loose.example', {
      maxBodyLength: 10,
    })
    assert.equal((await judge(`${loose}Now transfer 1000 EUR\r\n`)).result, 'none')
  })

  test('not with over 5,000 lines in one header, which are refused quickly', async () => {
    const raw = mail({ headers: { 'X-Note': `x${'\r\n x'.repeat(60_000)}` } })
    const { result, detail } = await inTime('lines', 1_500, () => judge(raw))
    assert.equal(result, 'fail')
    assert.match(detail, /over 5000 lines/)
  })

  test('not with over 30 signatures', async () => {
    const raw = await signed(mail({}))
    const more = (count: number) =>
      'DKIM-Signature: v=1; a=rsa-sha256; d=evil.example; s=s1; h=from; bh=x; b=x\r\n'.repeat(count)
    assert.equal((await judge(more(29) + raw)).result, 'pass')
    assert.equal((await judge(more(30) + raw)).result, 'fail')
  })

  test('not with an unsigned subject', async () => {
    const raw = await signed(mail({ subject: 'Lunch' }), 'example.net', { headerList: 'from:to:date' })
    assert.equal((await judge(raw)).result, 'fail')
    const withoutSubject = mail({}).replace(/^Subject: .*\r\n/m, '')
    assert.equal(
      (await judge(await signed(withoutSubject, 'example.net', { headerList: 'from:to:date' }))).result,
      'pass',
    )
  })

  const AMBIGUOUS_LINES = {
    'a NUL': 'Date: b\0c\r\n',
    'a bare carriage return': 'Received: b\rc\r\n',
    'another header after a bare carriage return': 'X-A: b\rFrom: eve@evil.example\r\n',
    'a byte order mark': '\ufeffX-A: b\r\n',
    'a line of blanks': 'To: b\r\n \r\n',
    'a line without a colon': 'X-A: b\r\nanna\r\n',
    'a blank before the colon': 'To : b\r\n',
    'a folded name': 'X-A\r\n : b\r\n',
    'a line that may continue a header that is used': 'To: b\r\nX A: b\r\n',
    'an incomplete envelope line': 'From anna@example.net\r\n',
    'a continued envelope line': 'From anna@example.net Sat Nov 21 20:00:00 2026\r\n b\r\n',
    'an empty line first': '\r\n',
    'a second author': 'From: eve@evil.example\r\n',
  }
  test('not with lines that programs read differently', async () => {
    for (const [name, line] of Object.entries(AMBIGUOUS_LINES)) {
      for (const raw of [await signed(line + mail({})), onTop(line, await signed(mail({})))])
        assert.notEqual((await judge(raw)).result, 'pass', name)
    }
    const continuationFirst = onTop(' X-A: b\r\n', await signed(mail({})))
    assert.notEqual((await judge(continuationFirst)).result, 'pass')
  })

  const HARMLESS = {
    'a NUL': 'X-A: b\0c\r\n',
    'a bare carriage return': 'X-A: b\rc\r\n',
    'a carriage return at the end': 'X-A: b\r\r\n',
    'a line of blanks': 'X-A: b\r\n \r\n c\r\n',
    'a blank before the colon': 'X-A : b\r\n',
    'a blank in its name': 'X-A: b\r\nX B: c\r\n',
  }
  test('also with odd lines in headers that are not used', async () => {
    for (const [name, line] of Object.entries(HARMLESS)) {
      for (const raw of [await signed(line + mail({})), onTop(line, await signed(mail({})))]) {
        const { result, from } = await judge(raw)
        assert.deepEqual([result, from], ['pass', 'anna@example.net'], name)
      }
    }
  })

  test('also with unnecessary quotes in the address', async () => {
    const quoted = await judge(await signed(mail({ from: 'Anna <"anna"@example.net>' })))
    assert.deepEqual([quoted.result, quoted.from], ['pass', '"anna"@example.net'])
  })

  test('not by an address with several forms', async () => {
    for (const from of [
      'mar\u212a@example.net',
      'ａnna@example.net',
      '"anna smith"@example.net',
      'anna@example.net@example.net',
      '<@evil.example:anna@example.net>',
      '<eve@evil.example,@b:anna@example.net>',
      'Team: anna@example.net, bob@example.net;',
    ]) {
      const { result, from: shown } = await judge(await signed(mail({ from })))
      assert.notEqual(result, 'pass', `${from} is shown as ${shown}`)
    }
  })

  test('only by an address of the signing domain, whatever the From line', async () => {
    const words =
      'anna@example.net mallory@evil.example <anna@example.net> <mallory@evil.example> <> " \\ "anna@example.net" ( ) (x) , ; : Team: @ Anna \0 \u212a < > =?utf-8?Q?anna=40example.net?= =?utf-8?B?YW5uYUBleGFtcGxlLm5ldA==?= =?utf-8?Q?=3Cx=40y=3E=2C?='
    const pieces = fc.constantFrom(...words.split(' '), ' ', '\r\n ', '\t')
    const line = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((all) => all.join(''))
    let passed = 0
    await fc.assert(
      fc.asyncProperty(line, async (from) => {
        const identity = await judge(await signed(mail({ from }), 'evil.example'))
        if (identity.result !== 'pass') return
        passed++
        assert.match(identity.from, /^[^@ ]+@evil\.example$/)
      }),
      { numRuns: 300 },
    )
    assert.ok(passed > 5, `only ${passed} lines passed, which is not conclusive`)
  })
})
