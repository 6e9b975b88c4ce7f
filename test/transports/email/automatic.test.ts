import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { automaticReason } from '../../../transports/email/inbound/automatic.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { bareSubject, isReplySubject } from '../../../transports/email/inbound/subject.ts'
import { trustedResult } from '../../../transports/email/inbound/trusted-results.ts'
import { markOf, marksIn, messageIdOf } from '../../../transports/email/own-id.ts'
import fc from '../../fixtures/fast-check.ts'
import { mail } from './harness.ts'

const OWN = new Set(['support@example.com'])
const reasonFor = async (headers: Record<string, string>) =>
  automaticReason(await parseMail(Buffer.from(mail({ headers }))), OWN)

describe('whether a mail is automatic', () => {
  const automatic: Record<string, string>[] = [
    { 'Auto-Submitted': 'auto-generated' },
    { 'AUTO-SUBMITTED': 'Auto-Replied; owner-email="x@example.net"' },
    { 'Auto-Submitted': 'auto-notified (by cron)' },
    { 'Auto-Submitted': 'something-new' },
    { Precedence: 'bulk' },
    { Precedence: ' JUNK' },
    { 'X-Precedence': 'list' },
    { 'List-Id': '<users.example.org>' },
    { 'List-Unsubscribe': '<mailto:u@example.org>' },
    { 'List-Help': '<mailto:h@example.org>' },
    { 'X-Auto-Response-Suppress': 'DR, OOF, AutoReply' },
    { 'X-Auto-Response-Suppress': 'All' },
    { 'Return-Path': '<>' },
    { 'Content-Type': 'multipart/report; report-type=disposition-notification; boundary=x' },
    { From: 'MAILER-DAEMON@example.net' },
    { From: 'donotreply@example.net' },
    { From: 'no_reply+7@example.net' },
    { From: 'users-request@example.net' },
    { From: 'SUPPORT@example.com' },
    { From: 'a@example.net, b@example.net' },
  ]
  for (const headers of automatic) {
    test(`${JSON.stringify(headers)} is`, async () => assert.ok(await reasonFor(headers)))
  }

  const personal: Record<string, string>[] = [
    {},
    { 'Auto-Submitted': 'no' },
    { 'Auto-Submitted': 'NO (a person)' },
    { 'X-Auto-Response-Suppress': 'DR, RN' },
    { Precedence: 'first-class' },
    { 'Return-Path': '<anna@example.net>' },
    { From: 'noreplyson@example.net' },
  ]
  for (const headers of personal) {
    test(`${JSON.stringify(headers)} is not`, async () => assert.equal(await reasonFor(headers), undefined))
  }

  test('does not depend on the order or the case of its headers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...automatic),
        fc.boolean(),
        fc.nat(5),
        async (headers, upper, noise) => {
          const extra = Object.fromEntries(
            Array.from({ length: noise }, (_, at) => [`X-Noise-${at}`, `${at}`]),
          )
          const cased = Object.entries(headers).map(([name, value]) => [
            upper ? name.toUpperCase() : name.toLowerCase(),
            value,
          ])
          const bare = { Subject: 'x', To: 'support@example.com', From: 'anna@example.net', ...extra }
          const all = {
            ...Object.fromEntries(
              Object.entries(bare).filter(
                ([name]) => !cased.some(([each]) => each?.toLowerCase() === name.toLowerCase()),
              ),
            ),
            ...Object.fromEntries(cased),
          }
          const raw = Object.entries(all)
            .reverse()
            .map(([name, value]) => `${name}: ${value}`)
            .join('\r\n')
          assert.ok(automaticReason(await parseMail(Buffer.from(`${raw}\r\n\r\nx`)), OWN))
        },
      ),
    )
  })
})

describe('subjects', () => {
  test('lose every prefix that clients put before them', () => {
    for (const subject of [
      'Re: Parcel',
      'AW: Re: Parcel',
      'RE[2]: parcel'.replace('p', 'P'),
      'Sv: VS: Re:Parcel',
      '回复：Parcel',
    ]) {
      assert.ok(isReplySubject(subject), subject)
      assert.equal(bareSubject(subject), 'Parcel')
    }
    assert.equal(isReplySubject('Regarding: you'), false)
  })

  test('of any kind are reduced in one go', () => {
    fc.assert(
      fc.property(fc.string(), (subject) =>
        assert.equal(bareSubject(bareSubject(subject)), bareSubject(subject)),
      ),
    )
  })
})

describe('the mark of a send', () => {
  test('is found again wherever it is quoted, and differs by gateway and key', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (gateway, key, noise) => {
        const mark = markOf(gateway, key)
        assert.deepEqual(
          marksIn(`${noise} ${messageIdOf(mark, 'support@example.com').toUpperCase()} ${noise}`).includes(
            mark,
          ),
          true,
        )
        assert.notEqual(mark, markOf(gateway, `${key}x`))
      }),
    )
  })
})

describe('Authentication-Results of a trusted server', () => {
  const resultOf = async (...headers: string[]) =>
    trustedResult(
      await parseMail(Buffer.from(`${headers.join('\r\n')}\r\nFrom: anna@mail.example.net\r\n\r\nx`)),
      'mx.example.com',
      'mail.example.net',
    ).result

  test('prove the sender by dmarc, an aligned dkim signature, or spf for the same domain', async () => {
    assert.equal(
      await resultOf('Authentication-Results: mx.example.com; dmarc=pass header.from=mail.example.net'),
      'pass',
    )
    assert.equal(
      await resultOf('Authentication-Results: MX.example.com 1; dkim=pass (ok) header.d=example.net'),
      'pass',
    )
    assert.equal(
      await resultOf('Authentication-Results: mx.example.com; spf=pass smtp.mailfrom=anna@mail.example.net'),
      'pass',
    )
  })

  test('prove nothing by a signature of somebody else', async () => {
    assert.equal(
      await resultOf('Authentication-Results: mx.example.com; dkim=pass header.d=evil.example'),
      'none',
    )
    assert.equal(await resultOf('Authentication-Results: mx.example.com; dkim=pass header.d=net'), 'none')
    assert.equal(
      await resultOf('Authentication-Results: mx.example.com; spf=pass smtp.mailfrom=x@evil.example'),
      'none',
    )
    assert.equal(await resultOf('Authentication-Results: mx.example.com; x=y (dmarc=pass); none'), 'none')
    assert.equal(
      await resultOf('Authentication-Results: mx.example.com; dmarc=pass header.from=example.net'),
      'none',
    )
  })

  test('count only from that server, and only above the next Received header', async () => {
    const forged = 'Authentication-Results: mx.example.com; dmarc=pass'
    assert.equal(await resultOf('Authentication-Results: evil.example; dmarc=pass', forged), 'none')
    assert.equal(
      await resultOf('Authentication-Results: mx.example.com; dmarc=fail', 'Received: from a by b', forged),
      'fail',
    )
    assert.equal(await resultOf('Authentication-Results: mx.example.com.evil.example; dmarc=pass'), 'none')
  })
})
