import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
routes: [{ name: orders, match: { gateway: shop }, skill: broken, retry: { attempts: 1 }, reply: none }]
`
/** Fails for one of three causes. */
const BROKEN = `export default { description: 'fails', run({ args }) {
  const { text } = JSON.parse(args.text)
  const [cause, number] = text.split(' ')
  if (cause === 'template') throw new Error('the template invoice-fr is missing')
  throw new Error('the directory answered ' + cause + ' for order ' + number)
} }`

describe('the page of a retry at the command line', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { broken: BROKEN } })
  const daemon = await site.start()
  const texts = ['502 411', '502 412', '502 413', '500 414', 'template 415', 'template 416']
  for (const [at, text] of texts.entries())
    await daemon.post('/shop', JSON.stringify({ text, email: `p${at}@example.com` }))
  const letters = async () => [await daemon.invoke('dead-letter-list', {})].flat().map(Object)
  await until(async () => (await letters()).length === 6, 'the dead letters')
  const shown = async (id: string) => Object(await daemon.invoke('job-show', { id }))
  const idOf = (found: unknown): string => Object(found).job.id
  const first = idOf(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
  await until(async () => (await shown(first)).outcomes?.dead === 6, 'the failures')

  test('counts failures by cause, with an example of each, and keeps the status in the text', async () => {
    const { out } = await site.run(['job', 'show', first])
    assert.match(
      out,
      /^3\tfailed again\t\tthe directory answered 502 for order …\t\S+\tp\d@\S+: 502 41\d .*$/m,
    )
    assert.match(
      out,
      /^1\tfailed again\t\tthe directory answered 500 for order 414\t\S+\tp3@\S+: 500 414 .*$/m,
    )
    assert.match(out, /^2\tfailed again\t\tthe template invoice-fr is missing\t\S+\t/m)
    assert.match(out, /^All 6 messages: `trivium job items \S+`$/m)
    assert.match(out, /^state +with-failures$/m)
    const { groups } = await shown(first)
    const [{ pattern, code, queue, group }] = groups
    const same = Object(await daemon.invoke('dead-letter-list', { pattern, code, queue, group }))
    assert.equal(same.length, 3)
  })

  test('says how long the messages took, not only their queueing', async () => {
    const { settledAt, endedAt, startedAt } = await shown(first)
    assert.ok(settledAt >= endedAt)
    const { out } = await site.run(['job', 'show', first])
    assert.match(out, /^ended +20\S+ \S+ UTC, after /m)
    assert.doesNotMatch(out, /^queued/m)
    const [job] = Object(await daemon.invoke('job-list', { kind: 'dead-letters' }))
    assert.equal(job.settledAt, settledAt)
    assert.ok(settledAt >= startedAt)
  })

  test('has the dropped and erased messages of a retry, too', async () => {
    const [letter] = await letters()
    await daemon.invoke('dead-letter-drop', { id: letter.id })
    const erase = { identity: ['*:p0@example.com'], confirm: true, wait: 60_000 }
    assert.equal(Object(await daemon.invoke('person-erase', erase)).job.state, 'done')
    const { out } = await site.run(['job', 'show', first])
    assert.match(out, /^1\tfailed again\t\tthe .*; dropped since\t/m)
    assert.match(out, /^1\terased since\t/m)
    const { groups } = await shown(first)
    assert.equal(
      groups.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
      6,
    )
  })

  test('is found by its failures, however many retries came since', async () => {
    for (let n = 0; n < 25; n++) {
      const job = idOf(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'nothing' }))
      await until(async () => (await shown(job)).state === 'done', 'the end of a retry of nothing')
    }
    const list = await site.run(['job', 'list', '--state', 'with-failures'])
    assert.match(list.out, new RegExp(`^${first}\t[^\t]+\twith-failures\t`, 'm'))
    const all = Object(await daemon.invoke('job-list', { kind: 'dead-letters', limit: 50 }))
    assert.deepEqual(all.at(-1).outcomes, { dead: 5, erased: 1 })
  })

  test('has no failures any more once all its messages were done or dropped', async () => {
    await site.run(['dead-letter', 'drop', '--all', '--yes'])
    const idsIn = async (state: string) =>
      Object(await daemon.invoke('job-list', { state, limit: 50 })).map(({ id }: { id: string }) => id)
    await until(async () => !(await idsIn('with-failures')).includes(first), 'the end of its failures')
    assert.ok((await idsIn('done')).includes(first))
    const row = new RegExp(`^${first}\t[^\t]+\tdone\t.*5 failed again.*5 dropped since$`, 'm')
    assert.match((await site.run(['job', 'list'])).out, row)
  })

  test('of all routes is named as in the console', async () => {
    const job = idOf(await daemon.invoke('dead-letter-bulk', { do: 'retry', queue: 'dispatch' }))
    const { out } = await site.run(['job', 'show', job])
    assert.match(out, /^\S+ {2}retry dead letters of all routes$/m)
    assert.match((await site.run(['job', 'list'])).out, /\tretry all routes\t/)
  })
})
