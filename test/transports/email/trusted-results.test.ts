import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseAuthenticationResults } from '../../../transports/email/proof/results.ts'
import fc from '../../fixtures/fast-check.ts'
import { inProportion } from '../../fixtures/in-time.ts'
import { mail } from './harness.ts'
import { judge } from './signing.ts'

const HOST = 'mx.example.com'
const FROM = 'header.from=example.net'
/** The result for a mail of anna@example.net with these Authentication-Results on top. */
const resultOf = async (...values: string[]) => {
  const headers = values.map((value) => `Authentication-Results: ${value}\r\n`)
  return (await judge(headers.join('') + mail({}), { trust: HOST })).result
}

describe('the results of a trusted server', () => {
  const PASS = {
    'of Gmail': `${HOST};\r\n       dkim=pass header.i=@example.net header.s=s1 header.b="ab/c+=";\r\n       spf=pass (google.com: domain of x designates 203.0.113.7 as permitted sender) smtp.mailfrom=bounce+a=b@example.net;\r\n       dmarc=pass (p=NONE sp=QUARANTINE dis=NONE) ${FROM}`,
    'of Microsoft': `${HOST}; spf=none (sender IP is 203.0.113.7) smtp.mailfrom=; dkim=pass (signature was verified) header.d=example.net;dmarc=pass action=none ${FROM};compauth=pass reason=100`,
    'of OpenDKIM': `${HOST};\r\n\tdkim=pass (2048-bit key; unprotected) header.d=example.net header.i=@example.net header.a=rsa-sha256 header.s=s1 header.b=abc`,
    'of Rspamd': `${HOST};\r\n\tdkim=pass header.d=example.net header.s=s1 header.b=abc;\r\n\tspf=pass (mx: domain of a@example.net) smtp.mailfrom=a@example.net;\r\n\tdmarc=pass (policy=reject) ${FROM}`,
    'with blanks and a version': `(hello) "${HOST}" 1; DMARC/1 = Pass (p=reject; a "quote) \t ${FROM} ;`,
    'with a parent that signs': `${HOST}; dkim=pass header.d=example.net; dmarc=none header.from=example.net`,
    'with the same property twice': `${HOST}; dkim=pass header.d=example.net header.d=example.net`,
    'with SPF for the same domain': `${HOST}; spf=pass smtp.mailfrom="anna; x"@example.net`,
  }
  test('verify a sender in the formats of all servers', async () => {
    for (const [name, value] of Object.entries(PASS)) assert.equal(await resultOf(value), 'pass', name)
  })

  test('verify a sender only with the organizational domain of the author', async () => {
    const resultFor = async (from: string, author: string) => {
      const value = `Authentication-Results: ${HOST}; dmarc=pass (p=reject) header.from=${author}\r\n`
      return (await judge(value + mail({ from }), { trust: HOST })).result
    }
    assert.equal(await resultFor('anna@sub.example.net', 'example.net'), 'pass')
    assert.equal(await resultFor('anna@example.net', 'sub.example.net'), 'fail')
    assert.equal(await resultFor('anna@sub.example.net', 'net'), 'fail')
    assert.equal(await resultFor('anna@sub.example.net', 'other.example.net'), 'fail')
  })

  const FAIL = {
    'a quoted local part that looks like a result': `${HOST}; spf=pass smtp.mailfrom="a; dmarc=pass b"@evil.example; dmarc=fail ${FROM}`,
    'a comment that swallows what follows': `${HOST}; dkim=pass header.d=example.net(.evil.example; dmarc=fail ${FROM}`,
    'a quote that swallows what follows': `${HOST}; dkim=pass header.d=example.net header.b="x; dmarc=fail ${FROM}`,
    'another author': `${HOST}; dmarc=pass header.from=evil.example`,
    'both a pass and a failure': `${HOST}; dmarc=pass ${FROM}; dmarc=fail ${FROM}`,
    'a pass beside a failure': `${HOST}; dkim=pass header.d=example.net; dmarc=fail (p=reject) ${FROM}`,
  }
  test('fail with a DMARC failure or another author, whatever the other results', async () => {
    for (const [name, value] of Object.entries(FAIL)) assert.equal(await resultOf(value), 'fail', name)
  })

  const NONE = {
    'a missing author': `${HOST}; dmarc=pass`,
    'a result in a comment': `${HOST}; spf=none (dmarc=pass ${FROM})`,
    'a result in an escaped comment': `${HOST}; spf=none (\\) dmarc=pass ${FROM})`,
    'a result in a quote': `${HOST}; dkim=none reason="; dmarc=pass ${FROM}"`,
    'a domain in a quote': `${HOST}; dkim=pass reason="header.d=example.net" header.d=evil.example`,
    'a domain twice': `${HOST}; dkim=pass header.d=evil.example header.d=example.net`,
    'a domain in two pieces': `${HOST}; dkim=pass header.d=example.net evil.example`,
    'an identity of another signer': `${HOST}; dkim=pass header.i=@example.net header.d=evil.example`,
    'a local part with a domain': `${HOST}; spf=pass smtp.mailfrom=example.net@evil.example`,
    'a quoted local part with an address': `${HOST}; spf=pass smtp.mailfrom="x@example.net y"@evil.example`,
    'a child that signs for its parent': `${HOST}; dkim=pass header.d=sub.example.net`,
    'a top-level domain that signs': `${HOST}; dkim=pass header.d=net`,
    'another server': `${HOST}.evil.example; dmarc=pass ${FROM}`,
    'a signature of another': `${HOST}; dkim=pass header.d=evil.example`,
    'an envelope of another': `${HOST}; spf=pass smtp.mailfrom=x@evil.example`,
    'a pass in a comment of an unknown method': `${HOST}; x=y (dmarc=pass); none`,
  }
  test('have no effect if they are of another domain, or may be written by the sender', async () => {
    for (const [name, value] of Object.entries(NONE)) assert.equal(await resultOf(value), 'none', name)
  })

  test('are those of the topmost header for each method, since a sender may add others below', async () => {
    const forged = `${HOST}; dkim=pass header.d=example.net; dmarc=pass ${FROM}`
    assert.equal(await resultOf(`${HOST}; dkim=none; dmarc=none`, forged), 'none')
    assert.equal(await resultOf(`${HOST}; dkim=none; dmarc=none header.b="`, forged), 'none')
    assert.equal(await resultOf(`${HOST}; dmarc=fail ${FROM}`, forged), 'fail')
    assert.equal(await resultOf('other.example; dkim=none', forged), 'none')
    assert.equal(await resultOf(`${HOST}; dkim=none\r\nReceived: from a by b`, forged), 'none')
    // OpenDKIM and OpenDMARC each add a header.
    assert.equal(
      await resultOf(`${HOST}; dmarc=pass ${FROM}`, `${HOST}; dkim=pass header.d=example.org`),
      'pass',
    )
  })

  test('do not verify a mail with ambiguous headers', async () => {
    const value = (policy: string) => `${HOST}; dmarc=pass ${policy} ${FROM}\r\nSubject: other`
    assert.equal(await resultOf(value('')), 'none')
    assert.equal(await resultOf(value('(p=NONE)')), 'none')
    assert.equal(await resultOf(value('(p=REJECT)')), 'fail')
    assert.equal(await resultOf(value('policy.dmarc=quarantine')), 'fail')
    assert.equal(await resultOf(`${HOST}; dmarc=pass ${FROM}\r\nTo : b`), 'none')
  })

  test('do not verify by a signature that allows a second header if there are two', async () => {
    const resultWith = (h: string, more = '') =>
      resultOf(
        `${HOST}; dkim=pass header.d=example.net; dmarc=pass ${FROM}${more}\r\nReply-To: a@b\r\nReply-To: c@d\r\nDKIM-Signature: v=1; d=example.net; h=from:subject${h}`,
      )
    assert.equal(await resultWith(':reply-to'), 'none')
    assert.equal(await resultWith(':reply-to : Reply-To'), 'pass')
    assert.equal(await resultWith(':reply-to', '; spf=pass smtp.mailfrom=example.net'), 'pass')
  })

  test('do not verify by a signature that allows text after the body', async () => {
    const signature = 'DKIM-Signature: v=1; d=example.net; s=s1; l=10; h=from:subject'
    const dkim = `${HOST}; dkim=pass header.d=example.net; dmarc=pass ${FROM}`
    assert.equal(await resultOf(`${dkim}\r\n${signature}`), 'none')
    assert.equal(await resultOf(`${dkim}; spf=pass smtp.mailfrom=example.net\r\n${signature}`), 'pass')
    assert.equal(
      await resultOf(`${dkim}\r\n${signature.replace('d=example.net', 'd=other.example')}`),
      'pass',
    )
  })

  test('are not affected by the text of an envelope sender', async () => {
    const words =
      '; = ( ) @ \\" \\\\ a . spf=pass smtp.mailfrom=example.net \\( \\; dmarc=pass|header.from=example.net dkim=pass|header.d=example.net'
    const piece = fc.constantFrom(' ', ...words.split(' ').map((each) => each.replace('|', ' ')))
    const local = fc.array(piece, { maxLength: 8 }).map((all) => `"${all.join('')}"@evil.example`)
    await fc.assert(
      fc.asyncProperty(local, async (path) => {
        assert.equal(await resultOf(`${HOST}; spf=pass smtp.mailfrom=${path}; dmarc=none ${FROM}`), 'none')
      }),
      { numRuns: 500 },
    )
  })
})

describe('the results of Microsoft 365, which do not name a server', () => {
  const received = (by: string, from = 'a.example (203.0.113.7)') =>
    `Received: from ${from} by\r\n ${by} (10.167.16.1) with Microsoft SMTP Server; Sat, 21 Nov 2026 10:00:00 +0000\r\n`
  const entry = (from: string) =>
    received(
      'DB9PR01MB1.eurprd01.prod.exchangelabs.com',
      'AM0PR04CA1.eurprd04.prod.outlook.com (2603:10a6:10:1d0::27)',
    ) + received('AM0PR04CA1.outlook.office365.com', from)
  const INSIDE = entry('AM3PEPF0000A790.eurprd05.prod.outlook.com\r\n (2603:10a6:20b:cafe::de)')
  const EDGE = received('AM3PEPF0000A790.mail.protection.outlook.com')
  const results = (domain: string, dmarc = 'pass action=none') =>
    `Authentication-Results: spf=pass (sender IP is 203.0.113.7)\r\n smtp.mailfrom=${domain}; dkim=pass (signature was verified)\r\n header.d=${domain};dmarc=${dmarc}\r\n header.from=example.net;compauth=pass reason=100\r\n`
  const PASS = results('example.net')
  const FAIL = results('evil.example', 'fail action=oreject')
  const result = async (headers: string) => (await judge(headers + mail({}), { trust: 'microsoft' })).result

  test('are used between the hops of Microsoft', async () => {
    assert.equal(await result(INSIDE + PASS + EDGE), 'pass')
    assert.equal(await result(INSIDE + FAIL + EDGE), 'fail')
    assert.equal((await judge(INSIDE + PASS + EDGE + mail({}), { trust: HOST })).result, 'none')
  })

  test('are not used at places where a sender may have written them', async () => {
    const hop = received('mx.evil.example')
    assert.equal(await result(INSIDE + FAIL + EDGE + PASS + EDGE), 'fail')
    const named = (machine: string, address = '2603:10a6:20b:cafe::de') =>
      entry(`${machine}.prod.outlook.com (${address})`)
    for (const headers of [
      INSIDE + EDGE + hop + PASS + EDGE,
      INSIDE + EDGE + PASS + EDGE,
      INSIDE + EDGE + INSIDE + PASS + EDGE,
      named('other') + PASS + EDGE,
      named('AM3PEPF0000A790', '203.0.113.7') + PASS + EDGE,
      named('AM3PEPF0000A790', '2603:1030:20b:cafe::de') + PASS + EDGE,
      received('mx.example.com') + PASS + EDGE,
      received('mx.example.com') + INSIDE + PASS + EDGE,
      PASS + EDGE,
      INSIDE + PASS,
      INSIDE + PASS + hop,
      INSIDE + PASS + received('x.protection.outlook.com.evil.example'),
      INSIDE + PASS.replace('spf=', 'mx.evil.example; spf=') + EDGE,
    ]) {
      assert.equal(await result(headers), 'none', headers)
    }
  })

  test('are missing for mail from the same organization', async () =>
    assert.equal(await result(INSIDE), 'none'))
})

describe('an Authentication-Results header', () => {
  test('is read in proportional time', async () => {
    for (const piece of ['(', '"', 'a=b ', 'a;', '(a']) {
      await inProportion(piece, 9999, (size) => parseAuthenticationResults(piece.repeat(size / piece.length)))
    }
  })
})
