import { z } from 'zod'
import { type Bench, type Contender, interleave, type Line, type Row, type StoreName } from '../lib/bench.ts'
import { createSite, removeSite, startDaemon } from '../lib/daemon.ts'
import { spread } from '../lib/statistics.ts'

const ENTRIES = 50

/**
 * What the skill runtime itself costs, measured inside a daemon by skills: a nested invocation of a skill that does
 * nothing, a prompt with a full session, and the time from a `state-set` to the end of the `state-wait` for it.
 */
export const skillRuntime: Row = {
  name: 'skill-runtime',
  title: 'a nested invocation, a prompt with 50 history entries, state-set to state-wait',
  async run(bench) {
    const contenders: Contender[] = []
    for (const store of bench.stores) contenders.push(await insideDaemon(bench, store))
    const rounds = await interleave(bench, contenders)
    return bench.stores.flatMap((store): Line[] => {
      const micros = (figure: string, name: string, most?: number): Line => {
        const value = spread(rounds(store), name)
        const line = { row: 'skill-runtime', store, figure, unit: 'µs', value }
        return most === undefined ? line : { ...line, reach: { most } }
      }
      const shared = micros('state-set to state-wait, shared', 'shared')
      if (store !== bench.stores[0]) return [shared]
      return [
        micros('nested invocation, no middleware', 'plain', 20),
        micros('nested invocation, session in memory', 'session', 100),
        micros(`prompt with ${ENTRIES} history entries`, 'prompt'),
        micros('state-set to state-wait, memory', 'memory'),
        micros('state-set to state-wait, file', 'file'),
        shared,
      ]
    })
  },
}

const figuresSchema = z.record(z.string(), z.number())

async function insideDaemon(bench: Bench, store: StoreName): Promise<Contender> {
  const dir = createSite({ routes: 'routes: []\n', skills: SKILLS })
  bench.defer(() => removeSite(dir))
  const daemon = await startDaemon(dir, await bench.redis(store))
  bench.defer(daemon.stop)
  const isFirst = store === bench.stores[0]
  const count = bench.quick ? 2_000 : 10_000
  return {
    name: store,
    async measure() {
      const shared = await daemon.invoke('state-latency', { store: 'shared', count: count / 50 })
      if (!isFirst) return figuresSchema.parse({ shared })
      return figuresSchema.parse({
        shared,
        plain: await daemon.invoke('nest', { skill: 'plain', count }),
        session: await daemon.invoke('nest', { skill: 'session', count: count / 2 }),
        prompt: await daemon.invoke('prompt', { count: count / 10 }),
        memory: await daemon.invoke('state-latency', { store: 'memory', count: count / 50 }),
        file: await daemon.invoke('state-latency', { store: 'file', count: count / 50 }),
      })
    },
  }
}

const markdownFolder = new URL('../../../src/skills/markdown/', import.meta.url).href

/** The skills that measure return microseconds: a mean where it is a loop, the median where it is a wait. */
const SKILLS: Record<string, string> = {
  plain: `export default { description: 'Does nothing.', run() {} }`,

  session: `export default {
  description: 'Does nothing, and remembers it.',
  metadata: { session: 'args.sessionId' },
  run() {},
}`,

  nest: `export default {
  description: 'Invokes a skill again and again, one after the other.',
  async run({ args: { skill, count }, manager }) {
    const began = performance.now()
    for (let n = 0; n < count; n++) await manager.invoke(skill, { sessionId: 's', text: 'a turn of a conversation' })
    return ((performance.now() - began) * 1000) / count
  },
}`,

  prompt: `const turn = { sessionId: 's', text: 'What became of my order of last week? '.repeat(5) }

export default {
  description: 'Fills a session, then has prompts put together with it.',
  metadata: { session: 'args.sessionId' },
  async run({ args: { count }, manager }) {
    if (count === undefined) return 'It was sent on Monday and should be with you by now. '.repeat(4)
    for (let n = 0; n < ${ENTRIES}; n++) await manager.invoke('prompt', turn)
    return manager.invoke('prompt-loop', { ...turn, customer: { name: 'Ada' }, count })
  },
}`,

  'prompt-loop': `import { compilePrompt } from '${markdownFolder}prompt.ts'
import { renderPrompt } from '${markdownFolder}render.ts'

const source = 'You help people.\\n\\n:session-history[]\\n\\nAnswer :arg[text] of :arg[customer.name].'

export default {
  description: 'Puts a prompt together.',
  metadata: { session: { key: 'args.sessionId', name: 'prompt' } },
  run(ctx) {
    const { count } = ctx.args
    if (ctx.locals.session.entries.length !== ${ENTRIES}) throw new Error('the session is not full')
    const prompt = compilePrompt(source)
    const began = performance.now()
    for (let n = 0; n < count; n++) renderPrompt(prompt, ctx)
    return ((performance.now() - began) * 1000) / count
  },
}`,

  'state-latency': `import { setTimeout as pause } from 'node:timers/promises'

export default {
  description: 'Waits for a key and sets it.',
  async run({ args: { store, count }, manager }) {
    const times = []
    for (let n = 0; n < count; n++) {
      const key = 'bench:' + n
      await manager.invoke('state-delete', { key, store })
      const waiting = manager.invoke('state-wait', { key, store, timeout: 10_000 })
      await pause(5)
      const began = performance.now()
      manager.invoke('state-set', { key, store, value: n })
      if ((await waiting) !== n) throw new Error('the wait ended without the value')
      times.push(performance.now() - began)
    }
    return times.sort((a, b) => a - b)[times.length >> 1] * 1000
  },
}`,
}
