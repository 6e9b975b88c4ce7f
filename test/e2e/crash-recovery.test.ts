import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Chat } from '../fixtures/daemon.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none }, conversation: data.body.conversation }
  chat: { transport: websocket, path: /ws }
routes:
  - name: chat
    match: { gateway: chat }
    skill: talk
  - name: rest
    skill: work
`

const SKILLS = {
  /** Leaves a line at start and end; waits until the file `go` is there. */
  work: `
    import { appendFileSync, existsSync } from 'node:fs'
    import { setTimeout as pause } from 'node:timers/promises'
    export default { description: 'works', async run({ message, signal }) {
      const { n } = message.data.body
      appendFileSync('log', 'start ' + n + '\\n')
      while (!existsSync('go')) await pause(10, undefined, { signal })
      appendFileSync('log', 'end ' + n + '\\n')
    } }`,
  /** Sends, says so, and waits to be killed; what it sends after that is new. */
  talk: `
    import { appendFileSync, existsSync } from 'node:fs'
    import { setTimeout as pause } from 'node:timers/promises'
    export default { description: 'talks', async run({ manager, args, signal }) {
      if (args.text === 'plain') return 'plain'
      await manager.invoke('gateway-send', { text: 'first', wait: 5000 })
      appendFileSync('log', 'start talk\\n')
      while (!existsSync('go-talk')) await pause(10, undefined, { signal })
      await manager.invoke('gateway-send', { text: 'second' })
    } }`,
}

/** On Redis what a dead daemon had claimed is free after 10 s. */
const RECOVERY = 25_000

for (const store of ['embedded', 'redis'] as const) {
  describe(`a daemon that was killed and is back, on ${store}`, { timeout: 120_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS, store })
    before(() => suite.site.write('log', ''))

    const lines = () => readFileSync(join(suite.site.dir, 'log'), 'utf8').split('\n')
    const crash = () => suite.restart('SIGKILL')

    test('dispatches what was running and all that was queued behind it, in order', async () => {
      const expected = Array.from({ length: 20 }, (_, n) => `end queued${n}`)
      for (const [n] of expected.entries())
        await suite.daemon.post('/hooks/work', JSON.stringify({ conversation: 'queue', n: `queued${n}` }))
      await until(() => lines().includes('start queued0'), 'a running skill')
      await crash()
      suite.site.write('go', '')
      await until(() => lines().includes('end queued19'), 'the end of the queue', RECOVERY)
      assert.deepEqual(
        lines().filter((line) => line.startsWith('end queued')),
        expected,
      )
    })

    test('does not send again what its skill had sent, and sends what was left', async () => {
      const client = await suite.daemon.chat()
      const textsOf = ({ all }: Chat) => all('message').map(({ text }) => text)
      const [welcome] = client.all('welcome')
      client.send({ text: 'first and second' })
      await until(() => textsOf(client).includes('first'), 'the first reply')
      await until(() => lines().includes('start talk'), 'a skill that waits')
      await crash()
      suite.site.write('go-talk', '')
      const again = await suite.daemon.chat(`/ws?conversation=${welcome?.conversation}&after=0`)
      await until(() => textsOf(again).includes('second'), 'the second reply', RECOVERY)
      again.send({ text: 'plain' })
      await until(() => textsOf(again).includes('plain'), 'the reply after')
      assert.deepEqual(textsOf(again), ['first', 'second', 'plain'])
      again.close()
    })
  })
}
