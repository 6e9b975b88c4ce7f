import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
schedules: [{ name: ledger, cron: '0 3 1 1 *', skill: ledger }]
routes: [{ name: all, skill: echo }]
`
/** `broken` fails permanently, `locked` is tried again. */
const LEDGER = `import { readFileSync } from 'node:fs'
export default { description: 'exports the ledger', run({ manager }) {
  const state = readFileSync(new URL('../../ledger', import.meta.url), 'utf8')
  if (state === 'broken') return manager.invoke('state-get')
  if (state === 'locked') throw new Error('the ledger is locked')
} }`

describe('the retry of a dead run of a schedule', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { ledger: LEDGER } })
  site.write('ledger', 'broken')
  const daemon = await site.start()
  const letters = async () => [await daemon.invoke('dead-letter-list', {})].flat().map(Object)
  const shown = async (id: string) => Object(await daemon.invoke('job-show', { id }))
  /** The job that retries a run which fails once more, while its next attempt is to come. */
  const retrying = async () => {
    site.write('ledger', 'locked')
    const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', queue: 'schedules' }))
    const isTried = async () => ((await shown(job.id)).outcomes?.retrying === 1 ? shown(job.id) : undefined)
    return until(isTried, 'a failed attempt')
  }
  await site.run(['schedule', 'run', 'ledger'])
  await until(async () => (await letters()).length === 1, 'the dead letter')

  test('is open until the run has failed again, and ends when it did', async () => {
    const job = await retrying()
    assert.equal(job.delivering, true)
    assert.equal(job.settledAt, undefined)
    const [{ error, nextAt, example }] = job.groups
    assert.match(example.text, /^ledger, started by hand$/)
    assert.equal(job.messages[0].text, example.text)
    assert.match(error, /the ledger is locked/)
    assert.ok(nextAt > job.endedAt)
    assert.match((await site.run(['job', 'list'])).out, new RegExp(`^${job.id}\t[^\t]+\tretrying\t`, 'm'))
    site.write('ledger', 'broken')
    const { code, out } = await site.run(['job', 'show', job.id, '--follow'])
    assert.equal(code, 1)
    assert.match(out, /^state +with-failures$/m)
    assert.match(out, /\tledger, started by hand$/m)
    const [letter] = await letters()
    assert.equal((await shown(job.id)).settledAt, letter.at)
  })

  test('is done once the run is, and took until then', async () => {
    const job = await retrying()
    site.write('ledger', 'open')
    const { code, out } = await site.run(['job', 'show', job.id, '--follow'])
    assert.equal(code, 0)
    assert.match(out, /^result +1 dead letter retried: 1 done$/m)
    const ended = await shown(job.id)
    assert.deepEqual(ended.outcomes, { done: 1 })
    assert.ok(ended.settledAt >= job.groups[0].nextAt)
  })
})
