import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { oneTimeResolver } from '../../../transports/email/proof/dns.ts'
import { createIdentityCheck } from '../../../transports/email/proof/verify.ts'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { until } from '../../fixtures/until.ts'
import { cursorOf, type DaemonOptions, mail, type Options, startMailServer } from './harness.ts'
import { dnsOf, RECORDS, signed } from './signing.ts'

/** What is found out while look-ups of these names fail with an error of this code. */
async function judged(raw: string | Buffer, failing: (domain: string) => string | undefined) {
  const resolver = dnsOf(RECORDS, failing)
  const verify = createIdentityCheck({ authentication: 'prefer' }, resolver)
  const { identity, undecided = false } = await verify(await parseMail(Buffer.from(raw)), Buffer.from(raw))
  return { result: identity.result, undecided }
}

describe('while the DNS fails', () => {
  test('nothing is decided of a mail, and in the end nobody can tell', async () => {
    const found = await judged(await signed(mail({})), () => 'ESERVFAIL')
    assert.deepEqual(found, { result: 'temperror', undecided: true })
  })

  test('a key that cannot be had makes no forgery of a mail at once, and no proof ever', async () => {
    const isKey = (name: string) => (name.startsWith('s1._domainkey') ? 'ETIMEOUT' : undefined)
    // Its domain asks to refuse what is not proven, and that could be read.
    assert.deepEqual(await judged(await signed(mail({})), isKey), { result: 'fail', undecided: true })
  })

  test('nobody is let in whom the SPF record that cannot be had might keep out', async () => {
    const found = await judged(mail({}), (name) => (name === 'example.net' ? 'ESERVFAIL' : undefined))
    assert.deepEqual(found, { result: 'fail', undecided: true })
  })

  test('look-ups that could prove nothing hold up no mail', async () => {
    const forged = `Return-Path: <x@evil.example>\r\nReceived: from evil.example (evil.example [198.51.100.66]) by mx.example.com with ESMTP id 1; Sat, 21 Nov 2026 20:00:00 +0000\r\n${mail({})}`
    const raw = await signed(forged, 'evil.example')
    const found = await judged(raw, (name) => (name.endsWith('evil.example') ? 'ESERVFAIL' : undefined))
    assert.deepEqual(found, { result: 'fail', undecided: false })
  })

  test('the look-ups of one question end, however slow the names that its sender chose', async () => {
    const mute = oneTimeResolver(() => new Promise(() => {}), 20)
    for (const name of ['slow.evil.example', '_dmarc.example.net'])
      await assert.rejects(mute(name, 'TXT'), { code: 'ETIMEOUT' })
    await assert.rejects(oneTimeResolver(dnsOf())('no.example', 'TXT'), { code: 'ENOTFOUND' })
  })

  test('a name that no server can answer for is no outage of the domain that it stands under', async () => {
    for (const code of ['EBADNAME', 'EFORMERR', 'EBADQUERY', 'ERR_INVALID_ARG_VALUE']) {
      const isKey = (name: string) => (name.startsWith('s1._domainkey') ? code : undefined)
      const found = await judged(await signed(mail({})), isKey)
      assert.deepEqual(found, { result: 'fail', undecided: false }, code)
    }
  })
})

const mailServer = await startMailServer()

describe('a mailbox during an outage of the DNS', () => {
  const guarded = async (options: Options, broken: (name: string) => boolean, more: DaemonOptions = {}) => {
    const state = { broken }
    const resolver = dnsOf(RECORDS, (name) => (state.broken(name) ? 'ESERVFAIL' : undefined))
    const daemon = await mailServer.daemon(options, { ...more, overrides: { resolver, ...more.overrides } })
    const waiting = () => daemon.logs.some(({ message }) => message === 'a mail was set aside')
    return { daemon, state, waiting }
  }
  const isBroken = (name: string) => name.endsWith('broken.example')

  test('loses no honest mail where proof is required', async () => {
    const options = { address: 'honest@example.com', authentication: 'require', after: 'delete' }
    const { daemon, state, waiting } = await guarded(options, () => true, {
      overrides: { decisionTimeout: 2000 },
    })
    await mailServer.deliver(await signed(mail({ text: 'genuine' })), options.address)
    await until(waiting, 'the first try')
    assert.deepEqual(daemon.refused, [])
    state.broken = () => false
    const message = await daemon.message()
    assert.deepEqual([message.text, message.from.verified], ['genuine', true])
  })

  test('in the end refuses it where proof is required, and else takes it without an answer', async () => {
    const short = { overrides: { decisionTimeout: 100 } }
    const strict = { address: 'long@example.com', authentication: 'require', after: 'delete' }
    const { daemon: refusing } = await guarded(strict, () => true, short)
    await mailServer.deliver(await signed(mail({ text: 'genuine' })), strict.address)
    await until(() => refusing.refused.length === 1, 'the refusal')
    assert.equal((await mailServer.mailbox(strict.address)).length, 1)

    const list = { authentication: 'prefer', 'allowed-senders': ['anna@example.net'] }
    const { daemon } = await guarded({ address: 'preferred@example.com', ...list }, () => true, short)
    await mailServer.deliver(mail({ text: 'who knows' }), 'preferred@example.com')
    const message = await daemon.message()
    assert.match(JSON.stringify(message.data), /"result":"temperror".*"suppress":"unauthenticated"/)
    assert.equal(message.from.verified, undefined)
  })

  test('takes the mail of others at once while one sender cannot be told, and is well', async () => {
    const user = 'others@example.com'
    await mailServer.as(user, (client) => client.mailboxCreate('Done'))
    // Both are there when it starts, so that they are read side by side.
    await mailServer.deliver(mail({ from: 'x@broken.example' }), user)
    await mailServer.deliver(mail({ from: 'bob@example.org', text: 'next' }), user)
    const options = { authentication: 'prefer', since: 'all', after: { move: 'Done' } }
    const { daemon, state } = await guarded({ address: user, ...options }, isBroken)
    await until(() => daemon.store.messages.length === 1, 'the other one')
    await mailServer.deliver(mail({ from: 'bob@example.org', text: 'later' }), user)
    await until(async () => (await mailServer.mailbox(user, 'Done')).length === 2, 'both others put away')
    assert.deepEqual(daemon.texts(), ['next', 'later'])
    assert.equal((await mailServer.mailbox(user)).length, 1)
    await until(() => daemon.transport.health().detail?.includes('set aside: 1: mail 1 of INBOX'), 'the note')
    assert.equal(daemon.transport.health().ok, true)
    assert.match(JSON.stringify(await cursorOf(daemon.store)), /"uid":3,.*"aside":\[\{"uid":1,/)

    // Another daemon goes on where this one ended.
    await daemon.stop()
    state.broken = () => false
    const second = await guarded({ address: user, ...options }, () => false, { store: daemon.store })
    await until(async () => (await mailServer.mailbox(user, 'Done')).length === 3, 'the first one put away')
    assert.deepEqual(daemon.texts(), ['next', 'later', 'My parcel is late.'])
    await until(() => second.daemon.transport.health().detail === 'reading INBOX', 'nothing aside')
    await second.daemon.stop()
  })

  test('counts the decisionTimeout from the first try, whatever daemons come and go', async () => {
    const user = 'patient@example.com'
    let time = Date.now()
    const now = () => time
    const store = createMemoryStore(now)
    const options = { address: user, authentication: 'prefer' }
    const more = { store, now, overrides: { decisionTimeout: 300_000 } }
    const first = await guarded(options, isBroken, more)
    await mailServer.deliver(mail({ from: 'x@broken.example' }), user)
    await until(() => asideIn(store, 1), 'the note')
    await first.daemon.stop()
    time += 300_000
    const second = await guarded(options, isBroken, more)
    await until(() => store.messages.length === 1, 'the message')
    await second.daemon.stop()
  })

  test('forgets a mail that somebody took out of the folder meanwhile', async () => {
    const user = 'taken@example.com'
    const options = { address: user, authentication: 'prefer' }
    const { daemon, waiting } = await guarded(options, isBroken, { overrides: { decisionTimeout: 2000 } })
    await mailServer.deliver(mail({ from: 'x@broken.example' }), user)
    await until(waiting, 'the first try')
    await mailServer.as(user, (client) => client.messageDelete('1:*'))
    // Before the first try ends, there is no note either.
    const isGone = () =>
      daemon.logs.some(({ message }) => message.includes('no longer exist in their folder'))
    await until(isGone, 'the log line')
    await until(() => asideIn(daemon.store, 0), 'the end of the note')
    assert.deepEqual(daemon.store.messages, [])
  })
})

/** Whether so many mails are noted as set aside. */
async function asideIn(store: MemoryStore, count: number): Promise<boolean> {
  const aside = (await cursorOf(store))?.aside
  return Array.isArray(aside) && aside.length === count
}
