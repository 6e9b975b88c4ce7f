import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { oneTimeResolver } from '../../../transports/email/inbound/dns-failure.ts'
import { createIdentityCheck, SenderUndecided } from '../../../transports/email/inbound/identity.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { until } from '../../fixtures/until.ts'
import { mail, startWorld, type World } from './harness.ts'
import { dnsOf, RECORDS, signed } from './signing.ts'

const MINUTE = 60_000

/** A check whose clock and DNS the test moves. */
function checkWith(failing: (domain: string, type: string) => string | undefined, records = RECORDS) {
  const world = { now: 1_000_000, failing }
  const verify = createIdentityCheck({
    authentication: 'prefer',
    trust: undefined,
    sealers: [],
    resolver: dnsOf(records, (domain, type) => world.failing(domain, type)),
    now: () => world.now,
  })
  const arrive = async (raw: string | Buffer) => {
    const parsed = await parseMail(Buffer.from(raw))
    const source = () => Buffer.from(raw)
    return () => verify(parsed, source)
  }
  return { world, arrive }
}

const outage = () => 'ESERVFAIL'
const notYet = (late: boolean) => (error: unknown) => error instanceof SenderUndecided && error.late === late

describe('while the DNS fails', () => {
  test('nothing is decided of a mail, until it answers again', async () => {
    const { world, arrive } = checkWith(outage)
    const look = await arrive(await signed(mail({})))
    await assert.rejects(look(), notYet(false))
    world.now += MINUTE
    await assert.rejects(look(), notYet(true))
    world.failing = () => undefined
    assert.equal((await look()).result, 'pass')
  })

  test('a mail waits for five minutes, and then nobody can tell', async () => {
    const { world, arrive } = checkWith(outage)
    const look = await arrive(await signed(mail({})))
    await assert.rejects(look(), notYet(false))
    world.now += 5 * MINUTE
    assert.deepEqual([(await look()).result, (await look()).by], ['temperror', 'dns'])
  })

  test('a domain whose mail waited in vain has no other wait, and other domains do', async () => {
    const { world, arrive } = checkWith(outage)
    const first = await arrive(mail({ from: 'x@a.broken.example' }))
    await assert.rejects(first(), notYet(false))
    world.now += 5 * MINUTE
    assert.equal((await first()).result, 'temperror')
    assert.equal((await (await arrive(mail({ from: 'y@b.broken.example' })))()).result, 'temperror')
    await assert.rejects((await arrive(mail({ from: 'z@other.example' })))(), notYet(false))
    world.now += 5 * MINUTE
    await assert.rejects((await arrive(mail({ from: 'y@b.broken.example' })))(), notYet(false))
  })

  test('a key that cannot be had makes no forgery of a mail at once, and no proof ever', async () => {
    const { world, arrive } = checkWith((name) => (name.startsWith('s1._domainkey') ? 'ETIMEOUT' : undefined))
    const look = await arrive(await signed(mail({})))
    await assert.rejects(look(), notYet(false))
    world.now += 5 * MINUTE
    // Its domain asks to refuse what is not proven, and that could be read.
    assert.equal((await look()).result, 'fail')
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
      () => time,
    )
    for (let at = 0; at < 4; at++)
      await assert.rejects(resolve(`slow${at}.evil.example`, 'TXT'), { code: 'ENOTFOUND' })
    await assert.rejects(resolve('_dmarc.example.net', 'TXT'), { code: 'ETIMEOUT' })
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
  ) => {
    const state = { broken }
    const resolver = dnsOf(RECORDS, (name) => (state.broken(name) ? 'ESERVFAIL' : undefined))
    const { imapPort: port, password: pass } = world.dovecot
    const imap = { host: '127.0.0.1', port, tls: 'none', user, pass }
    const daemon = await world.daemon(
      { address: user, imap, ...options },
      { world: { resolver, ...(patience ? { patience } : {}) } },
    )
    const waiting = () => daemon.logs.some(({ message }) => message.includes('could not be accepted yet'))
    return { daemon, state, waiting }
  }

  test('loses no honest mail where proof is required', async () => {
    const user = 'honest@example.com'
    const options = { authentication: 'require', after: 'delete' }
    const { daemon, state, waiting } = await guarded(user, options, () => true)
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

  test('takes the mail of others while one sender cannot be told', async () => {
    const user = 'others@example.com'
    // Both are there when it starts, so that they are read side by side.
    await world.deliver(mail({ from: 'x@broken.example' }), user)
    await world.deliver(mail({ from: 'bob@example.org', text: 'next' }), user)
    const options = { authentication: 'prefer', since: 'all' }
    const broken = (name: string) => name.endsWith('broken.example')
    const { daemon, waiting } = await guarded(user, options, broken, 3000)
    await until(waiting, 'the first try')
    await until(() => daemon.store.messages.length === 2, 'both')
    assert.deepEqual(
      daemon.store.messages.map(({ text }) => text),
      ['next', 'My parcel is late.'],
    )
    await daemon.stop()
  })
})
