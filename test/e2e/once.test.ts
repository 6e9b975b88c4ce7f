import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none } }
routes:
  - name: work
    match: { gateway: work }
    skill: order
    retry: { attempts: 3, delay: 10ms }
`

/**
 * Charges once, then waits for the file `go-<order>`. So it can be killed after the charge or,
 * with `slow`, during the charge.
 */
const SKILLS = {
  order: `import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
const at = (name) => new URL('../../' + name, import.meta.url)
export default { description: 'charges', async run({ message, once, signal }) {
  const { order, slow, fail } = message.data.body
  const mayEnd = () => existsSync(at('go-' + order))
  const paid = await once('charge:' + order, async () => {
    appendFileSync(at('charged'), order + '\\n')
    while (slow && !mayEnd()) await pause(10, undefined, { signal })
    return { receipt: 'r-' + order }
  })
  appendFileSync(at('paid-' + order), JSON.stringify(paid) + '\\n')
  if (fail) throw new Error('after the charge')
  while (!mayEnd()) await pause(10, undefined, { signal })
} }`,
}

describe('ctx.once', { concurrency: true, timeout: 300_000 }, () => {
  for (const store of ['embedded', 'redis'] as const) {
    describe(`a call made with ctx.once, on ${store}`, { concurrency: 1 }, () => {
      const suite = suiteWithDaemon({ ownProcess: 'first', routes: ROUTES, skills: SKILLS, store })
      const lines = (name: string) => {
        const path = join(suite.site.dir, name)
        return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
      }
      const charges = (order: string) => lines('charged').filter((one) => one === order).length
      const post = (body: object) => suite.daemon.post('/hooks/work', JSON.stringify(body))

      test('is not repeated after a crash, and keeps its result; an interrupted one waits for a person', async () => {
        await post({ order: 'a' })
        const { id } = Object((await post({ order: 'c', slow: true })).body)
        await until(
          () => lines('paid-a').length === 1 && charges('c') === 1,
          'a finished charge and a started one',
        )
        const { invoke } = await suite.restart('SIGKILL')
        await until(() => lines('paid-a').length === 2, 'the skill to run again')
        assert.equal(charges('a'), 1)
        assert.deepEqual(lines('paid-a'), ['{"receipt":"r-a"}', '{"receipt":"r-a"}'])
        suite.site.write('go-a', '')

        const letter = await until(
          () => invoke('dead-letter-show', { id }).catch(() => undefined),
          'the message to be held for a person',
          30_000,
        )
        assert.match(JSON.stringify(letter), /call_unknown/)
        assert.equal(charges('c'), 1)

        const [call] = Object(await invoke('call-list'))
        assert.deepEqual([call.key, call.state], ['order/charge:c', 'started'])
        await invoke('call-settle', { key: call.key, happened: true, result: { receipt: 'found' } })
        suite.site.write('go-c', '')
        await invoke('dead-letter-retry', { id })
        await until(() => lines('paid-c').length === 1, 'the skill to continue')
        assert.deepEqual(lines('paid-c'), ['{"receipt":"found"}'])
        assert.equal(charges('c'), 1)
        assert.deepEqual(await invoke('call-list'), [])
      })

      test('is not repeated over the attempts of a failing skill', async () => {
        await post({ order: 'b', fail: true })
        await until(() => lines('paid-b').length === 3, 'three attempts')
        assert.equal(charges('b'), 1)
      })
    })
  }
})
