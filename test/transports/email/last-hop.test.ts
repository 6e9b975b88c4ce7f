import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { lastHop } from '../../../transports/email/proof/last-hop.ts'
import { mail } from './harness.ts'
import { dnsOf, judge, RECORDS } from './signing.ts'

const PATH = 'Return-Path: <anna@spf.example>'
const LMTP =
  'Received: from mx.example.com ([127.0.0.1])\r\n\tby mx.example.com with LMTP id 7; Sat, 21 Nov 2026 20:00:01 +0000'
const OUTSIDE =
  'Received: from mail.spf.example (mail.spf.example [203.0.113.7])\r\n\tby mx.example.com (Postfix) with ESMTPS id 1\r\n\tfor <s@example.com>; Sat, 21 Nov 2026 20:00:00 +0000'
/** A header that a sender adds below the real ones, to look like another sender. */
const FORGED = OUTSIDE

const hopOf = async (...headers: string[]) =>
  lastHop(await parseMail(Buffer.from([...headers, mail({})].join('\r\n'))))
const received = (from: string, rest = 'by mx.example.com with ESMTP id 2') =>
  `Received: ${from} ${rest}; Sat, 21 Nov 2026 20:00:00 +0000`
const EXPECTED = { client: { ip: '203.0.113.7', helo: 'mail.spf.example' }, sender: 'anna@spf.example' }

describe('the client that handed a mail over', () => {
  test('is found below the hops of own machines', async () => {
    const store = received('from mx (mx.example.com [10.0.0.5])', 'by store.example.com with ESMTP id 3')
    const google =
      'Received: by 2002:a05:6402:35c1:b0:5cf:bb71:4c2d with SMTP id x; Sat, 21 Nov 2026 20:00:00 +0000'
    for (const hops of [
      [PATH],
      [PATH, LMTP],
      [PATH, LMTP, received('from localhost (localhost [127.0.0.1])')],
      [PATH, received('from mx.example.com ([IPv6:::1])')],
      [PATH, store],
      [google, PATH],
      [received('from mx.example.com ([198.51.100.1])', 'by store with LMTPS id 4'), PATH],
    ]) {
      assert.deepEqual(await hopOf(...hops, OUTSIDE), EXPECTED, hops.join('\n'))
    }
  })

  const FORMS = {
    'Exim with a name': 'from mail.spf.example ([203.0.113.7]:4711 helo=other)',
    'Exim without one': 'from [203.0.113.7] (port=4711 helo=mail.spf.example)',
    'a literal in HELO': 'from [192.168.1.4] (host.example [203.0.113.7])',
    'an encrypted one':
      'from mail.spf.example (mail.spf.example [203.0.113.7]) (using TLSv1.3 (256/256 bits) (No client certificate requested))',
  }
  test('is read in the formats of all servers', async () => {
    for (const [name, from] of Object.entries(FORMS))
      assert.equal((await hopOf(received(from))).client?.ip, '203.0.113.7', name)
  })

  const UNCLEAR = {
    'the server did not record the address': 'from mail.evil.example',
    'there is no client': '',
    'two addresses are recorded': 'from x (a.example [198.51.100.66]) (b.example [203.0.113.7])',
    'the client calls itself local':
      'from localhost (localhost [127.0.0.1]) by mx with LMTP id 1 (x (evil [198.51.100.66])',
    'the client breaks out of the comment': 'from x) (y [203.0.113.7]) (rdns [198.51.100.66])',
    'the server is behind an address translation': 'from mx.example.com (unknown [172.17.0.1])',
    'the client is in the local network': 'from printer (printer.local [192.168.1.9])',
  }
  test('is unknown if its header is unclear, whatever is below', async () => {
    for (const [reason, from] of Object.entries(UNCLEAR))
      assert.equal((await hopOf(PATH, received(from), FORGED)).client, undefined, reason)
  })

  test('is the address that the server recorded, whatever the client claims', async () => {
    const rest =
      'by mx.example.com with ESMTP (Exim 4.98) (envelope-from <"a [192.0.2.1]"@evil.example>) id 1'
    for (const from of [
      'from x[203.0.113.7] (rdns.example [198.51.100.66])',
      'from [203.0.113.7] (rdns.example [198.51.100.66])',
      'from [198.51.100.66] (helo=x[203.0.113.7])',
      'from rdns.example ([198.51.100.66] helo=[203.0.113.7])',
    ]) {
      assert.equal((await hopOf(PATH, received(from, rest), FORGED)).client?.ip, '198.51.100.66', from)
    }
  })

  test('is ambiguous if the client may have broken the header of the server', async () => {
    const rest = 'by mx.example.com with ESMTP (envelope-from <"a)b"@spf.example>) id 1'
    const broken = received('from x (rdns [198.51.100.66])', rest)
    assert.deepEqual(await hopOf(PATH, broken, FORGED), { isAmbiguous: true })
    assert.deepEqual(await hopOf('Return-Path: <a@b@>', OUTSIDE), { isAmbiguous: true })
    const quoted = 'Return-Path: <"a b"@spf.example>'
    assert.equal((await hopOf(quoted, OUTSIDE)).sender, '"a b"@spf.example')
  })

  test('has the envelope sender of the topmost Return-Path only', async () => {
    assert.equal((await hopOf('Return-Path: <>', OUTSIDE, PATH)).sender, '')
    assert.equal((await hopOf(OUTSIDE, PATH)).sender, undefined)
  })
})

describe('SPF', () => {
  const records = {
    ...RECORDS,
    'TXT spf.example': 'v=spf1 ip4:203.0.113.7 -all',
    'TXT _dmarc.spf.example': 'v=DMARC1; p=reject',
  }
  const result = async (...headers: string[]) => {
    const raw = [...headers, mail({ from: 'Anna <anna@spf.example>' })].join('\r\n')
    return (await judge(raw, { resolver: dnsOf(records) })).result
  }

  test('verifies a sender whose mail came by a local delivery agent', async () => {
    assert.equal(await result(PATH, LMTP, OUTSIDE), 'pass')
  })

  test('fails for a forged sender, whatever headers are below', async () => {
    const evil = received('from mail.evil.example (mail.evil.example [198.51.100.66])')
    assert.equal(await result(PATH, LMTP, evil, FORGED), 'fail')
    assert.equal(await result('Return-Path: <eve@evil.example>', LMTP, evil, FORGED, PATH), 'fail')
  })

  test('has no result if it cannot be evaluated', async () => {
    const unclear = received('from mail.spf.example')
    assert.equal(await result(PATH, unclear, FORGED), 'none')
    assert.equal(await result(unclear, FORGED, PATH), 'none')
    // It fails if the client may have broken the header.
    const helo = received('from x) (mail.spf.example [203.0.113.7]) (rdns [198.51.100.66])')
    assert.equal(await result(PATH, helo, FORGED), 'fail')
    // It fails if even a pass would not be of the author's domain.
    assert.equal(await result('Return-Path: <eve@evil.example>', unclear), 'fail')
  })

  test('fails for a sender whose domain has no SPF record but a DMARC policy', async () => {
    assert.equal((await judge(mail({}))).result, 'fail')
  })
})
