import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { objectsIn } from '../../src/core/json.ts'
import { atTerminal, HAS_TERMINAL } from '../fixtures/at-terminal.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

const routesOf = (receiver: { url: string }) => `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
subscriptions:
  - { name: crm, url: "${receiver.url}/crm", topic: orders, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, allow-private: true }
routes:
  - { name: bad, match: { gateway: shop }, skill: fail, retry: { attempts: 1 } }
`
const SKILLS = { fail: `export default { description: 'fails', run() { throw new Error('no') } }` }
const REPLAYS = [
  ['subscription', 'replay', 'crm'],
  ['group', 'replay', 'books', 'orders'],
  ['event', 'replay', 'orders', 'books'],
]
const BIN = await bundledCommand()

describe('an action on everything', { timeout: 300_000 }, async () => {
  const receiver = await serveHttp((_, response) => response.writeHead(204).end())
  const site = openSite({ routes: routesOf(receiver), skills: SKILLS })
  const daemon = await site.start()
  await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'books' })
  for (const id of [1, 2]) await daemon.invoke('event-emit', { topic: 'orders', data: { id } })
  await daemon.invoke('event-wait', { topic: 'orders', queue: 'books' })
  const crm = async () => objectsIn(await daemon.invoke('subscription-list', {}))[0]
  await until(async () => {
    const { unread, queued } = Object(await crm())
    return unread === 0 && queued === 0
  }, 'the push has delivered the events')
  const jobs = async () => objectsIn(await daemon.invoke('job-list', {})).length

  test('a replay without a range needs --yes or --since all in a script, and says how many events it has', async () => {
    for (const command of REPLAYS) {
      for (const json of [[], ['--json']]) {
        const refused = await site.run([...command, ...json])
        assert.deepEqual([refused.code, refused.out], [2, ''], command.join(' '))
        assert.match(refused.err, /deliver all retained events again: 2 events/)
        assert.match(refused.err, /--yes .*`--since all`/s)
      }
    }
    assert.equal(await jobs(), 0)
    for (const command of REPLAYS) {
      assert.equal((await site.run([...command, '--yes'])).code, 0)
      assert.equal((await site.run([...command, '--since', 'all'])).code, 0)
      assert.equal((await site.run([...command, '--since', '2h'])).code, 0)
      assert.equal((await site.run([...command, '--dry-run'])).code, 0)
    }
    assert.equal(await jobs(), 9)
  })

  test('retrying all dead letters as a job needs --yes or a filter in a script', async () => {
    await daemon.post('/shop', '{}')
    const letters = async () => objectsIn(await daemon.invoke('dead-letter-list', {})).length
    await until(async () => (await letters()) === 1, 'the dead letter')
    const refused = await site.run(['dead-letter', 'bulk', '--do', 'retry'])
    assert.deepEqual([refused.code, refused.out], [2, ''])
    assert.match(refused.err, /This would retry 1 dead letter\. Add --yes/)
    assert.equal((await site.run(['dead-letter', 'bulk', '--do', 'retry', '--since', '1h'])).code, 0)
  })

  const skip = HAS_TERMINAL ? false : 'needs `script` of Linux'
  const answered = (args: readonly string[], answer: string, asked?: () => Promise<void>) =>
    atTerminal(`'${process.execPath}' '${BIN}' ${args.join(' ')}`, {
      question: '(y/N)',
      answer,
      cwd: site.dir,
      env: process.env,
      ...(asked && { asked }),
    })

  test('a person at a terminal is asked, with the number of events', { skip }, async () => {
    await until(async () => {
      const running = objectsIn(await daemon.invoke('job-list', {})).filter(
        ({ state }) => state === 'running',
      )
      return running.length === 0
    }, 'the end of the replays')
    await daemon.invoke('event-wait', { topic: 'orders', queue: 'books' })
    const before = await jobs()
    for (const command of REPLAYS) {
      const { code, shown } = await answered(command, 'n')
      assert.equal(code, 0)
      assert.match(shown, /2 events would be delivered again, of 2 .*\(y\/N\)/s)
    }
    assert.equal(await jobs(), before)
    const [group] = objectsIn(await daemon.invoke('event-groups', { queue: 'books' }))
    const { shown } = await answered(['group', 'seek', 'books', 'orders', 'start'], 'n')
    assert.match(shown, /2 events would be delivered again\.\s+Move the group books\? \(y\/N\)/)
    const [same] = objectsIn(await daemon.invoke('event-groups', { queue: 'books' }))
    assert.equal(same?.lag, group?.lag)
    assert.match((await answered(REPLAYS[1] ?? [], 'y')).shown, /job/i)
    assert.equal(await jobs(), before + 1)
  })

  test('a retry of all takes only what its question counted', { skip }, async () => {
    const letters = async () => objectsIn(await daemon.invoke('dead-letter-list', {})).length
    await until(async () => (await letters()) === 1, 'the dead letter')
    const { shown } = await answered(['dead-letter', 'retry', '--all'], 'y', async () => {
      await daemon.post('/shop', '{}')
      await until(async () => (await letters()) === 2, 'a later dead letter')
    })
    assert.match(shown, /Retry all of these\? \(y\/N\)/)
    const [retry] = objectsIn(await daemon.invoke('job-list', { kind: 'dead-letters' }))
    assert.partialDeepStrictEqual(retry, { state: 'done', result: { count: 1 } })
  })
})
