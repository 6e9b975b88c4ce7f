import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: orders, match: { gateway: shop }, skill: pick }
  - { name: rest, skill: echo }
schedules:
  - { name: nightly, cron: "30 3 * * *", skill: pick }
`
const SKILLS = {
  pick: "export default { description: 'fails for some', run({ message }) { if (message?.text === 'bad') throw new Error('no') } }",
}

describe('the commands about pauses', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const run = (line: string) => site.run(line.split(' '))

  test('say on resume what became of the messages that had waited', async () => {
    await run('gateway pause shop')
    for (const text of ['one', 'two']) await daemon.post('/shop', JSON.stringify({ text }))
    const { out, code } = await run('gateway resume shop')
    assert.equal(out, 'The gateway shop is resumed. 2 messages had waited: 2 done.\n')
    assert.equal(code, 0)
    assert.match((await run('gateway resume shop')).out, /^The gateway shop was not paused\.\n$/)
    await run('route pause orders')
    const resumed = await run('route resume orders')
    assert.equal(resumed.out, 'The route orders is resumed. No message had waited.\n')
  })

  test('count the runs of schedules that wait for a skill, and schedules name its pause', async () => {
    const spaced = async (line: string) => (await run(line)).out.replaceAll(/\s+/g, ' ')
    await run('skill pause pick')
    assert.match(await spaced('schedule list'), /nightly .*paused with skill pick/)
    assert.match(
      await spaced('schedule show nightly'),
      /paused with skill pick until it is resumed, by .*The next run, planned at .*, waits/,
    )
    assert.match(
      await spaced('schedule run nightly'),
      /^The schedule nightly waits for skill pick, which is paused/,
    )
    await until(
      async () => /^skill\tpick\t\S+\tit is resumed\t1\t/m.test((await run('pause list')).out),
      'a held run',
    )
    assert.equal(
      await spaced('skill resume pick'),
      'The skill pick is resumed. 1 run of a schedule or event had waited, and runs now. ',
    )
    assert.doesNotMatch(await spaced('schedule list'), /paused/)
  })

  test('do not wait for programs', async () => {
    await run('route pause orders')
    const resumed = JSON.parse((await run('route resume orders --json')).out)
    assert.deepEqual([resumed.existed, resumed.waited], [true, undefined])
  })

  test('name the command for words that people try first', async () => {
    assert.match((await run('pause resume shop')).err, /`trivium gateway resume shop`/)
  })

  test('keep the own reason of a pause that is extended, unless it is taken away', async () => {
    const list = async () => (await run('pause list')).out
    await site.run(['route', 'pause', 'orders', '--for', '1h', '--reason', 'a wave of spam'])
    await run('route pause orders --for 2h')
    assert.match(await list(), /orders\t.*a wave of spam/)
    await site.run(['route', 'pause', 'orders', '--reason', ''])
    assert.doesNotMatch(await list(), /spam/)
    await run('route resume orders')
  })

  test('list by whom and until when a gateway is paused', async () => {
    await run('gateway pause shop --for 1h')
    assert.match((await run('gateway list')).out, /^shop\t.*paused until \S+Z by \S+/m)
    await run('gateway resume shop')
  })
})
