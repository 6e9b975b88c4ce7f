import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { recoveryLines, waitsLine } from '../../src/engine/print/letter-recovery.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, event: data.body.type }
routes:
  - { name: payments, skill: pay, retry: { attempts: 1 } }
`
const PAY = `import { existsSync } from 'node:fs'
export default { description: 'pays', run({ args }) {
  const isOpen = existsSync(new URL('../../open', import.meta.url))
  if (args.text.includes('dispute') && !isOpen) throw new Error('the directory answered 502')
} }`

test('only a retried message of their cause proves that dead letters can succeed', async () => {
  const site = openSite({ routes: ROUTES, skills: { pay: PAY } })
  const daemon = await site.start()
  const listed = async () => (await site.run(['trouble', 'list', '--full'])).out
  const send = (type: string) => daemon.post('/shop', JSON.stringify({ type }))
  const cause = async () => Object([await daemon.invoke('dead-letter-groups', { recovery: true })].flat()[0])
  const recoveryIs = async (isMet: (recovery: Record<string, unknown>) => boolean, what: string) => {
    await until(async () => isMet(Object((await cause()).recovery)), what)
    const found = await cause()
    return { ...found, lines: recoveryLines(found).join('\n') }
  }
  for (const _ of [1, 2, 3]) await send('dispute')
  await until(async () => (await cause()).count === 3, 'three dead letters')
  assert.deepEqual((await cause()).events, ['dispute'])

  await send('charge')
  const other = await recoveryIs(({ others }) => others !== undefined, 'another message')
  assert.equal(other.recovery.alike, undefined)
  assert.match(other.lines, /^The route has handled 1 other message since; whether these can succeed/)
  const before = await listed()
  assert.match(before, /→ Fix the cause, then retry or drop them: `trivium dead-letter list /)
  assert.doesNotMatch(before, /was retried/)

  site.write('open', '')
  await daemon.invoke('dead-letter-retry', { id: other.newest })
  const retried = await recoveryIs((recovery) => recovery.retried !== undefined, 'a retried one')
  assert.equal(retried.recovery.retried.id, other.newest)
  assert.equal(retried.count, 2)
  assert.match(retried.lines, /✓.* 1 message of this cause was retried and is done, \d+ s ago$/m)
  assert.match(retried.lines, /Next step.*: retry all, as a message of this cause is done since/)
  assert.doesNotMatch(retried.lines, /one retry shows/)
  const [, id = ''] = /2 dead letters of payments \(.*, id ([0-9a-f]{8})\)/.exec(await listed()) ?? []
  for (const out of [await listed(), (await site.run(['trouble', 'show', id])).out]) {
    assert.match(out, /✓ 1 message of this cause was retried and is done, \d+ s ago\.$/m)
    assert.match(out, /→ Retry all, as a message of this cause is done since .*: `trivium dead-letter list /)
    assert.doesNotMatch(out, /Fix the cause/)
  }

  await send('dispute')
  const alike = await recoveryIs((recovery) => recovery.alike !== undefined, 'one of the same event')
  assert.equal(alike.recovery.others, undefined)
  // It may be of another kind than those that fail.
  assert.match(alike.lines, /^1 message of the same event \(dispute\) after the last failure is done$/m)

  rmSync(join(site.dir, 'open'))
  await daemon.invoke('dead-letter-retry', { id: alike.newest })
  await until(async () => (await cause()).retriedAt !== undefined, 'one that failed again')
  const again = await cause()
  assert.doesNotMatch(recoveryLines(again).join('\n'), /✓/)
  assert.match(recoveryLines(again).join('\n'), /but another retry has failed since/)
  assert.match(recoveryLines(again).join('\n'), /one retry shows$/m)
  // The retry is not a new failure: the message of the same event still came after the last one.
  assert.match(
    recoveryLines(again).join('\n'),
    /^1 message of the same event .* after the last failure is done/m,
  )
  assert.match(await listed(), /→ Fix the cause, then retry or drop them/)
})

test('messages of the same event that were done meanwhile show that not all fail, and prove nothing', async () => {
  const routes = `
gateways:
  shop:
    transport: webhook
    path: /shop
    verify: { scheme: none }
    event: data.body.type
    from: data.body.from
routes:
  - { name: payments, skill: pay, match: { text: "*paid*" }, retry: { attempts: 1 } }
  - { name: refunds, skill: pay, retry: { attempts: 2, delay: 1h } }
`
  const site = openSite({ routes, skills: { pay: PAY.replace("includes('dispute')", "includes('bad')") } })
  const daemon = await site.start()
  const send = (rest: object) => daemon.post('/shop', JSON.stringify({ type: 'paid', ...rest }))
  const cause = async () =>
    Object([await daemon.invoke('dead-letter-groups', { recovery: true, group: 'payments' })].flat()[0])
  await send({ from: 'renee@example.com', text: 'bad' })
  await until(async () => (await cause()).count === 1, 'a dead letter')
  await send({ from: 'lea@example.com' })
  await until(async () => (await cause()).recovery.alike?.count === 1, 'another one that is done')
  await send({ from: 'renee@example.com', text: 'bad' })
  await until(async () => (await cause()).count === 2, 'the last failure')
  await send({ type: 'refund', from: 'ana@example.com', text: 'bad' })
  await until(async () => (await cause()).recovery.trying?.count === 1, 'one that is tried again')
  const { recovery, waits, ...rest } = await cause()
  assert.equal(recovery.meanwhile.count, 1)
  assert.deepEqual([waits.people, waits.longest.length], [1, 1])
  assert.deepEqual(recovery.trying.routes, ['refunds'])
  assert.equal(recovery.trying.waits.people, 1)
  const lines = recoveryLines({ recovery, ...rest }).join('\n')
  assert.doesNotMatch(lines, /✓/)
  assert.match(
    lines,
    /^Not all fail: 1 message of the same event \(paid\) that came while these failed is done/m,
  )
  assert.match(lines, /^1 message of refunds failed the same way, and is tried again/m)
  assert.match(waitsLine({ waits }) ?? '', /^1 person waits: renee@example\.com for /)
})
