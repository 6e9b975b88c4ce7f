import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { oneTimeResolver } from '../../../transports/email/proof/dns.ts'
import { createIdentityCheck } from '../../../transports/email/proof/verify.ts'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { until } from '../../fixtures/until.ts'
import { cursorOf, type DaemonOptions, mail, type Options, startMailServer } from './harness.ts'
import { dnsOf, RECORDS, signed } from './signing.ts'

/** The identity of a mail. `failing` returns the error code with which a look-up fails. */
async function identityOf(raw: string | Buffer, failing: (domain: string) => string | undefined) {
  const resolver = dnsOf(RECORDS, failing)
  const verify = createIdentityCheck({ authentication: 'prefer' }, resolver)
  const { identity, undecided = false } = await verify(await parseMail(Buffer.from(raw)), Buffer.from(raw))
  return { result: identity.result, undecided }
}

describe('while DNS look-ups fail', () => {
  test('a mail is undecided', async () => {
    const identity = await identityOf(await signed(mail({})), () => 'ESERVFAIL')
    assert.deepEqual(identity, { result: 'temperror', undecided: true })
  })

  test('a signed mail is undecided without its key, and fails in the end', async () => {
    const isKey = (name: string) => (name.startsWith('s1._domainkey') ? 'ETIMEOUT' : undefined)
    // The policy of the domain could be read: it asks to refuse unverified mail.
    assert.deepEqual(await identityOf(await signed(mail({})), isKey), { result: 'fail', undecided: true })
  })

  test('a mail is undecided without the SPF record of its domain, and fails in the end', async () => {
    const identity = await identityOf(mail({}), (name) => (name === 'example.net' ? 'ESERVFAIL' : undefined))
    assert.deepEqual(identity, { result: 'fail', undecided: true })
  })

  test('a mail is decided if the failed look-ups could not verify it', async () => {
    const forged = `Return-Path: <x@evil.example>\r\nReceived: from evil.example (evil.example [198.51.100.66]) by mx.example.com with ESMTP id 1; Sat, 21 Nov 2026 20:00:00 +0000\r\n${mail({})}`
    const raw = await signed(forged, 'evil.example')
    const identity = await identityOf(raw, (name) =>
      name.endsWith('evil.example') ? 'ESERVFAIL' : undefined,
    )
    assert.deepEqual(identity, { result: 'fail', undecided: false })
  })

  test('all look-ups for one mail share a time limit, also for slow names chosen by the sender', async () => {
    const neverAnswering = oneTimeResolver(() => new Promise(() => {}), 20)
    for (const name of ['slow.evil.example', '_dmarc.example.net'])
      await assert.rejects(neverAnswering(name, 'TXT'), { code: 'ETIMEOUT' })
    await assert.rejects(oneTimeResolver(dnsOf())('no.example', 'TXT'), { code: 'ENOTFOUND' })
  })

  test('an invalid name is a failure of the mail, and not an outage of the domain', async () => {
    for (const code of ['EBADNAME', 'EFORMERR', 'EBADQUERY', 'ERR_INVALID_ARG_VALUE']) {
      const isKey = (name: string) => (name.startsWith('s1._domainkey') ? code : undefined)
      const identity = await identityOf(await signed(mail({})), isKey)
      assert.deepEqual(identity, { result: 'fail', undecided: false }, code)
    }
  })
})

const mailServer = await startMailServer()

describe('a mailbox during an outage of DNS', () => {
  /**
   * Starts a daemon for which look-ups fail while `state.isBroken` returns true. `waiting`: whether
   * a mail was set aside.
   */
  const start = async (options: Options, isBroken: (name: string) => boolean, more: DaemonOptions = {}) => {
    const state = { isBroken }
    const resolver = dnsOf(RECORDS, (name) => (state.isBroken(name) ? 'ESERVFAIL' : undefined))
    const daemon = await mailServer.daemon(options, { ...more, overrides: { resolver, ...more.overrides } })
    const waiting = () => daemon.logs.some(({ message }) => message === 'a mail was set aside')
    return { daemon, state, waiting }
  }
  const isBroken = (name: string) => name.endsWith('broken.example')

  test('accepts a genuine mail after the outage if authentication is required', async () => {
    const options = { address: 'honest@example.com', authentication: 'require', after: 'delete' }
    const { daemon, state, waiting } = await start(options, () => true, {
      overrides: { decisionTimeout: 2000 },
    })
    await mailServer.deliver(await signed(mail({ text: 'genuine' })), options.address)
    await until(waiting, 'the first try')
    assert.deepEqual(daemon.refused, [])
    state.isBroken = () => false
    const message = await daemon.message()
    assert.deepEqual([message.text, message.from.verified], ['genuine', true])
  })

  test('finally refuses a mail if authentication is required, and otherwise accepts it without an answer', async () => {
    const short = { overrides: { decisionTimeout: 100 } }
    const strict = { address: 'long@example.com', authentication: 'require', after: 'delete' }
    const { daemon: refusing } = await start(strict, () => true, short)
    await mailServer.deliver(await signed(mail({ text: 'genuine' })), strict.address)
    await until(() => refusing.refused.length === 1, 'the refusal')
    assert.equal((await mailServer.mailbox(strict.address)).length, 1)

    const list = { authentication: 'prefer', 'allowed-senders': ['anna@example.net'] }
    const { daemon } = await start({ address: 'preferred@example.com', ...list }, () => true, short)
    await mailServer.deliver(mail({ text: 'who knows' }), 'preferred@example.com')
    const message = await daemon.message()
    assert.match(JSON.stringify(message.data), /"result":"temperror".*"suppress":"unauthenticated"/)
    assert.equal(message.from.verified, undefined)
  })

  test('accepts other mail while one sender is undecided, with green health', async () => {
    const user = 'others@example.com'
    await mailServer.as(user, (client) => client.mailboxCreate('Done'))
    // Both exist before the start, so that they are read together.
    await mailServer.deliver(mail({ from: 'x@broken.example' }), user)
    await mailServer.deliver(mail({ from: 'bob@example.org', text: 'next' }), user)
    const options = { authentication: 'prefer', since: 'all', after: { move: 'Done' } }
    const { daemon, state } = await start({ address: user, ...options }, isBroken)
    await until(() => daemon.store.messages.length === 1, 'the other mail')
    await mailServer.deliver(mail({ from: 'bob@example.org', text: 'later' }), user)
    await until(
      async () => (await mailServer.mailbox(user, 'Done')).length === 2,
      'the move of the other mails',
    )
    assert.deepEqual(daemon.texts(), ['next', 'later'])
    assert.equal((await mailServer.mailbox(user)).length, 1)
    await until(() => daemon.transport.health().detail?.includes('set aside: 1: mail 1 of INBOX'), 'the note')
    assert.equal(daemon.transport.health().ok, true)
    assert.match(JSON.stringify(await cursorOf(daemon.store)), /"uid":3,.*"aside":\[\{"uid":1,/)

    // Another daemon continues.
    await daemon.stop()
    state.isBroken = () => false
    const second = await start({ address: user, ...options }, () => false, { store: daemon.store })
    await until(
      async () => (await mailServer.mailbox(user, 'Done')).length === 3,
      'the move of the undecided mail',
    )
    assert.deepEqual(daemon.texts(), ['next', 'later', 'My parcel is late.'])
    await until(() => second.daemon.transport.health().detail === 'reading INBOX', 'no mail set aside')
    await second.daemon.stop()
  })

  test('counts the decision timeout from the first attempt, also across restarts', async () => {
    const user = 'patient@example.com'
    let time = Date.now()
    const now = () => time
    const store = createMemoryStore(now)
    const options = { address: user, authentication: 'prefer' }
    const more = { store, now, overrides: { decisionTimeout: 300_000 } }
    const first = await start(options, isBroken, more)
    await mailServer.deliver(mail({ from: 'x@broken.example' }), user)
    await until(() => asideIn(store, 1), 'the note')
    await first.daemon.stop()
    time += 300_000
    const second = await start(options, isBroken, more)
    await until(() => store.messages.length === 1, 'the message')
    await second.daemon.stop()
  })

  test('forgets a mail that was deleted from the folder meanwhile', async () => {
    const user = 'taken@example.com'
    const options = { address: user, authentication: 'prefer' }
    const { daemon, waiting } = await start(options, isBroken, { overrides: { decisionTimeout: 2000 } })
    await mailServer.deliver(mail({ from: 'x@broken.example' }), user)
    await until(waiting, 'the first try')
    await mailServer.as(user, (client) => client.messageDelete('1:*'))
    // The log line is needed, because the record of the mail is also missing before the first
    // attempt ends.
    const isGone = () =>
      daemon.logs.some(({ message }) => message.includes('no longer exist in their folder'))
    await until(isGone, 'the log line')
    await until(() => asideIn(daemon.store, 0), 'the end of the note')
    assert.deepEqual(daemon.store.messages, [])
  })
})

/** Whether this number of mails is recorded as set aside. */
async function asideIn(store: MemoryStore, count: number): Promise<boolean> {
  const aside = (await cursorOf(store))?.aside
  return Array.isArray(aside) && aside.length === count
}
