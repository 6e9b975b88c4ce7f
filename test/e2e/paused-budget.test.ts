import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectsIn, pathGet } from '../../src/core/json.ts'
import { openBudgetSite } from '../fixtures/budget-site.ts'
import { until } from '../fixtures/until.ts'

const plain = { 'content-type': 'text/plain' }

describe('the budget of a skill that is paused', { timeout: 300_000 }, async () => {
  const site = await openBudgetSite(
    '{ total: 3 EUR/30d, skill: { summarise: 3 EUR/30d } }',
    ['summarise'],
    ['{ name: calls, match: { gateway: crm }, skill: summarise, reply: none }'],
  )
  const daemon = await site.start()
  const budgets = async () => objectsIn(Object(Object(await daemon.get('/v1/status')).result).budgets)
  const budgetTroubles = async () =>
    objectsIn(Object(Object(await daemon.get('/v1/status')).result).troubles).filter(
      ({ code }) => code === 'budget',
    )
  const post = (text: string) => daemon.post('/crm', text, plain)

  test('has no forecast, and says what is left for the messages that wait', async () => {
    await post('one')
    await post('two')
    await until(async () => (await budgets()).every(({ used }) => used === 2), 'two runs')
    const ended = async () => Object(await daemon.invoke('skill-usage', { name: 'summarise' })).runs === 2
    await until(ended, 'the end of two runs')
    await until(async () => (await budgetTroubles()).length === 2, 'a budget that does not last')
    await until(async () => (await budgets()).every(({ paysFor }) => paysFor === 1), 'the cost of a run')
    for (const command of [['cost'], ['skill', 'show', 'summarise']]) {
      const { out } = await site.run(command)
      const ends =
        /1\.00 EUR left \(about 1 run\); used up at about \d{4}-\S+ \S+ UTC at .* EUR an? (day|hour) /
      assert.match(out.replace(/\s+/g, ' '), ends, command.join(' '))
    }
    await daemon.invoke('skill-pause', { skill: 'summarise', for: '2h', reason: 'it repeats numbers' })
    for (const text of ['three', 'four', 'five']) await post(text)
    const all = async () => (await budgets()).every((each) => pathGet(each, 'paused.waiting') === 3)
    await until(all, 'three messages that wait')
    for (const budget of await budgets()) {
      assert.equal(budget.usedUpAt, undefined)
      assert.equal(budget.paysFor, 1)
      assert.partialDeepStrictEqual(objectsIn(pathGet(budget, 'paused.by') ?? [])[0], {
        kind: 'skill',
        name: 'summarise',
        reason: 'it repeats numbers',
      })
    }
    assert.deepEqual(await budgetTroubles(), [])
    const { out } = await site.run(['cost'])
    const words = out.replace(/\s+/g, ' ')
    assert.match(words, /not used while skill summarise is paused until .* \(by .*: it repeats numbers\)/)
    assert.match(
      words,
      /after that the 3 messages that wait run and use about 3.00 EUR, 2.00 EUR more than is left/,
    )
    assert.match((await site.run(['status'])).out.replace(/\s+/g, ' '), /not used while skill summarise/)
  })

  test('is exceeded by as much as was forecast when it is resumed', async () => {
    const { out } = await site.run(['skill', 'resume', 'summarise'])
    assert.match(
      out.replace(/\s+/g, ' '),
      /uses about 3.00 EUR; the budget of summarise has 1.00 EUR left and is then used up until about \d{4}-/,
    )
    await until(
      async () => (await budgets()).every(({ until }) => until !== undefined),
      'the end of a budget',
    )
    assert.match((await site.run(['cost'])).out, /USED UP/)
    await until(async () => (await budgets()).every(({ used }) => used === 5), 'the runs of all three')
  })
  test('is shown with what waits in the lists of routes and skills, and for a test message', async () => {
    await post('six')
    const routes = async () => JSON.parse((await site.run(['route', 'list', '--json'])).out)
    await until(async () => (await routes())[0].waiting === 1, 'a message that waits')
    const [route] = await routes()
    assert.equal(route.usedUp.limit, '3 EUR/30d')
    for (const list of ['route list', 'skill list', 'skill show summarise', 'route show calls']) {
      const { out } = await site.run(list.split(' '))
      assert.match(out.replace(/\s+/g, ' '), /used up until/, list)
    }
    const explained = await site.run(['message', 'send', 'crm', 'seven', '--explain'])
    assert.match(explained.out.replace(/\s+/g, ' '), /would wait: the budget .* is used up until/)
    const sent = await site.run(['message', 'send', 'crm', 'seven', '--test', '--wait', '4s'])
    const words = sent.out.replace(/\s+/g, ' ')
    assert.match(words, /The message waits: .*budget.* is free again at \d{4}-/)
    assert.match(words, /`trivium run cancel \S+ --drop` ends the test\./)
    assert.doesNotMatch(sent.err, /again in/)
  })
})
