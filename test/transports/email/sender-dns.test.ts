import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isJsonObject } from '../../../src/core/json.ts'
import { keyResolver, oneTimeResolver } from '../../../transports/email/inbound/dns-failure.ts'
import { createIdentityCheck, SenderUndecided } from '../../../transports/email/inbound/identity.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { until } from '../../fixtures/until.ts'
import { mail, startWorld, type World } from './harness.ts'
import { dnsOf, RECORDS, signed } from './signing.ts'

const MINUTE = 60_000

/** A check whose DNS the test moves; what has arrived is looked at after it `waited` (ms). */
function checkWith(failing: (domain: string, type: string) => string | undefined, records = RECORDS) {
  const world = { failing }
  const verify = createIdentityCheck({
    authentication: 'prefer',
    trust: undefined,
    sealers: [],
    resolver: dnsOf(records, (domain, type) => world.failing(domain, type)),
    patience: 5 * MINUTE,
  })
  const arrive = async (raw: string | Buffer) => {
    const parsed = await parseMail(Buffer.from(raw))
    return (waited = 0) => verify(parsed, () => Buffer.from(raw), waited)
  }
  return { world, arrive }
}

const outage = () => 'ESERVFAIL'

describe('while the DNS fails', () => {
  test('nothing is decided of a mail, until it answers again', async () => {
    const { world, arrive } = checkWith(outage)
    const look = await arrive(await signed(mail({})))
    await assert.rejects(look(), SenderUndecided)
    await assert.rejects(look(MINUTE), SenderUndecided)
    world.failing = () => undefined
    assert.equal((await look(MINUTE)).result, 'pass')
  })

  test('a mail waits for five minutes, and then nobody can tell', async () => {
    const { arrive } = checkWith(outage)
    const look = await arrive(await signed(mail({})))
    await assert.rejects(look(5 * MINUTE - 1), SenderUndecided)
    const { result, by } = await look(5 * MINUTE)
    assert.deepEqual([result, by], ['temperror', 'dns'])
  })

  test('a key that cannot be had makes no forgery of a mail at once, and no proof ever', async () => {
    const { arrive } = checkWith((name) => (name.startsWith('s1._domainkey') ? 'ETIMEOUT' : undefined))
    const look = await arrive(await signed(mail({})))
    await assert.rejects(look(), SenderUndecided)
    // Its domain asks to refuse what is not proven, and that could be read.
    assert.equal((await look(5 * MINUTE)).result, 'fail')
  })

  test('look-ups that could prove nothing hold up no mail', async () => {
    const { arrive } = checkWith((name) => (name.endsWith('evil.example') ? 'ESERVFAIL' : undefined))
    const forged = `Return-Path: <x@evil.example>\r\nReceived: from evil.example (evil.example [198.51.100.66]) by mx.example.com with ESMTP id 1; Sat, 21 Nov 2026 20:00:00 +0000\r\n${mail({})}`
    assert.equal((await (await arrive(await signed(forged, 'evil.example')))()).result, 'fail')
  })

  test('the look-ups of one mail end, however slow the names that its sender chose', async () => {
    let time = 0
    const resolve = oneTimeResolver(
      dnsOf(RECORDS, (name) => {
        time += name.startsWith('slow') ? 6000 : 1
        return undefined
      }),
      20_000,
      () => time,
    )
    for (let at = 0; at < 4; at++)
      await assert.rejects(resolve(`slow${at}.evil.example`, 'TXT'), { code: 'ENOTFOUND' })
    await assert.rejects(resolve('_dmarc.example.net', 'TXT'), { code: 'ETIMEOUT' })
  })

  test('keys that are slow leave the key of the author the time that it needs', async () => {
    let time = 0
    const resolve = keyResolver(
      dnsOf(RECORDS, (name) => {
        time += name.includes('slow') ? 3000 : 1
        return undefined
      }),
      (domain) => domain === 'example.net',
      () => time,
    )
    const slow = (at: number) => resolve(`s1._domainkey.slow${at}.evil.example`, 'TXT')
    for (const at of [1, 2]) await assert.rejects(slow(at), { code: 'ENOTFOUND' })
    for (const at of [3, 4, 5, 6]) await assert.rejects(slow(at), { code: 'ETIMEOUT' })
    assert.match(String(await resolve('s1._domainkey.example.net', 'TXT')), /^v=DKIM1/)
    assert.equal(time, 6001)
  })

  test('signatures of strangers who never answer keep no signed mail from being proven', async (t) => {
    const known = dnsOf()
    const wait = t.mock.method(globalThis, 'setTimeout', (then: () => void) => setImmediate(then))
    const verify = createIdentityCheck({
      ...{ authentication: 'prefer', trust: undefined, sealers: [], patience: 5 * MINUTE },
      resolver: (name, type) => (name.includes('mute') ? new Promise(() => {}) : known(name, type)),
    })
    let raw = await signed(mail({}))
    for (let at = 0; at < 3; at++) raw = await signed(raw, `mute${at}.evil.example`)
    assert.equal((await verify(await parseMail(raw), () => raw, 0)).result, 'pass')
    assert.ok(wait.mock.callCount() >= 3)
  })

  test('a name that no server can answer for is no outage of the domain that it stands under', async () => {
    for (const code of ['EBADNAME', 'EFORMERR', 'EBADQUERY', 'ERR_INVALID_ARG_VALUE']) {
      const { arrive } = checkWith((name) => (name.startsWith('s1._domainkey') ? code : undefined))
      assert.equal((await (await arrive(await signed(mail({}))))()).result, 'fail', code)
    }
  })
})

describe('a mailbox during an outage of the DNS', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())

  const guarded = async (
    user: string,
    options: object,
    broken: (name: string) => boolean,
    patience?: number,
    store?: MemoryStore,
    now?: () => number,
  ) => {
    const state = { broken }
    const resolver = dnsOf(RECORDS, (name) => (state.broken(name) ? 'ESERVFAIL' : undefined))
    const { imapPort: port, password: pass } = world.dovecot
    const imap = { host: '127.0.0.1', port, tls: 'none', user, pass }
    const daemon = await world.daemon(
      { address: user, imap, ...options },
      {
        world: { resolver, ...(patience ? { patience } : {}) },
        ...(store ? { store } : {}),
        ...(now ? { now } : {}),
      },
    )
    const waiting = () => daemon.logs.some(({ message }) => message === 'a mail was set aside')
    return { daemon, state, waiting }
  }
  const bodies = (messages: readonly { text: string }[]) => messages.map(({ text }) => text)
  const isBroken = (name: string) => name.endsWith('broken.example')

  test('loses no honest mail where proof is required', async () => {
    const user = 'honest@example.com'
    const options = { authentication: 'require', after: 'delete' }
    const { daemon, state, waiting } = await guarded(user, options, () => true, 2000)
    await world.deliver(await signed(mail({ text: 'genuine' })), user)
    await until(waiting, 'the first try')
    assert.deepEqual(daemon.refused, [])
    state.broken = () => false
    const message = await until(() => daemon.store.messages[0], 'the message')
    assert.deepEqual([message.text, message.from.verified], ['genuine', true])
    await daemon.stop()
  })

  test('refuses in the end where proof is required, to where a person finds it', async () => {
    const user = 'long@example.com'
    const options = { authentication: 'require', after: 'delete' }
    const { daemon, waiting } = await guarded(user, options, () => true, 100)
    await world.deliver(await signed(mail({ text: 'genuine' })), user)
    await until(waiting, 'the first try')
    await until(() => daemon.refused.length === 1, 'the refusal')
    assert.equal((await world.mailbox(user)).length, 1)
    await daemon.stop()
  })

  test('takes it in the end where proof is preferred, and does not answer it', async () => {
    const user = 'preferred@example.com'
    const list = { authentication: 'prefer', 'allowed-senders': ['anna@example.net'] }
    const { daemon, waiting } = await guarded(user, list, () => true, 100)
    await world.deliver(mail({ text: 'who knows' }), user)
    await until(waiting, 'the first try')
    const message = await until(() => daemon.store.messages[0], 'the message')
    assert.match(JSON.stringify(message.data), /"result":"temperror".*"suppress":"unauthenticated"/)
    assert.equal(message.from.verified, undefined)
    await daemon.stop()
  })

  test('takes the mail of others at once while one sender cannot be told, and is well', async () => {
    const user = 'others@example.com'
    await world.as(user, (client) => client.mailboxCreate('Done'))
    // Both are there when it starts, so that they are read side by side.
    await world.deliver(mail({ from: 'x@broken.example' }), user)
    await world.deliver(mail({ from: 'bob@example.org', text: 'next' }), user)
    const options = { authentication: 'prefer', since: 'all', after: { move: 'Done' } }
    const { daemon, state } = await guarded(user, options, isBroken)
    await until(() => daemon.store.messages.length === 1, 'the other one')
    await world.deliver(mail({ from: 'bob@example.org', text: 'later' }), user)
    await until(async () => (await world.mailbox(user, 'Done')).length === 2, 'both others put away')
    assert.deepEqual(bodies(daemon.store.messages), ['next', 'later'])
    assert.equal((await world.mailbox(user)).length, 1)
    await until(() => daemon.transport.health().detail?.endsWith('told: 1'), 'the note')
    assert.equal(daemon.transport.health().ok, true)
    const cursor = await daemon.deps.kv.get('email/support/cursor/INBOX')
    assert.match(JSON.stringify(cursor?.value), /"uid":3,.*"undecided":\[\{"uid":1,/)

    // Another daemon goes on where this one ended.
    await daemon.stop()
    state.broken = () => false
    const second = await guarded(user, options, () => false, 60_000, daemon.store)
    await until(async () => (await world.mailbox(user, 'Done')).length === 3, 'the first one put away')
    assert.deepEqual(bodies(daemon.store.messages), ['next', 'later', 'My parcel is late.'])
    await until(() => second.daemon.transport.health().detail === 'reading INBOX', 'nothing aside')
    await second.daemon.stop()
  })

  test('counts the patience from the first try, whatever connections and daemons come and go', async () => {
    const user = 'patient@example.com'
    let time = Date.now()
    const now = () => time
    const options = { authentication: 'prefer' }
    const store = createMemoryStore(now)
    const first = await guarded(user, options, isBroken, 5 * MINUTE, store, now)
    await world.deliver(mail({ from: 'x@broken.example' }), user)
    await until(first.waiting, 'the first try')
    await until(() => asideIn(store, 1), 'the note')
    await first.daemon.stop()
    time += 4 * MINUTE
    const second = await guarded(user, options, isBroken, 5 * MINUTE, store, now)
    assert.deepEqual([store.messages.length, await asideIn(store, 1)], [0, true])
    await second.daemon.stop()
    time += MINUTE
    const third = await guarded(user, options, isBroken, 5 * MINUTE, store, now)
    await until(() => store.messages.length === 1, 'the message')
    await until(() => asideIn(store, 0), 'the end of the note')
    assert.match(JSON.stringify(store.messages[0]?.data), /"result":"temperror"/)
    await third.daemon.stop()
  })

  test('forgets a mail that somebody took out of the folder meanwhile', async () => {
    const user = 'taken@example.com'
    const { daemon, waiting } = await guarded(user, { authentication: 'prefer' }, isBroken, 2000)
    await world.deliver(mail({ from: 'x@broken.example' }), user)
    await until(waiting, 'the first try')
    await world.as(user, (client) => client.messageDelete('1:*'))
    await until(() => asideIn(daemon.store, 0), 'the end of the note')
    assert.ok(daemon.logs.some(({ message }) => message.includes('is gone from its folder')))
    assert.deepEqual(daemon.store.messages, [])
    await daemon.stop()
  })

  test('finds again what was set aside in a folder that the server has numbered anew', async () => {
    const user = 'anew@example.com'
    const options = { authentication: 'prefer' }
    const first = await guarded(user, options, isBroken)
    await world.deliver(mail({ from: 'x@broken.example', text: 'kept' }), user)
    await until(first.waiting, 'the first try')
    await until(() => asideIn(first.daemon.store, 1), 'the note')
    await first.daemon.stop()
    await world.dovecot.kill()
    await world.dovecot.renumber(user)
    await world.dovecot.start()
    const second = await guarded(user, options, () => false, 60_000, first.daemon.store)
    await until(() => first.daemon.store.messages.length === 1, 'the message')
    assert.deepEqual(bodies(first.daemon.store.messages), ['kept'])
    await second.daemon.stop()
  })
})

/** Whether so many mails are noted as undecided. */
async function asideIn(store: MemoryStore, count: number): Promise<boolean> {
  const value = (await store.kv.get('email/support/cursor/INBOX'))?.value
  return isJsonObject(value) && Array.isArray(value.undecided) && value.undecided.length === count
}
