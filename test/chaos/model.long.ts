import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type DaemonProcess, openSite } from '../fixtures/daemon.ts'
import { type ModelAnswer, type ModelRequest, startOpenAiServer } from '../fixtures/openai-server.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'
import { createRandom, seedOf } from './random.ts'

const MINUTE = 60_000
const seed = seedOf(Date.now() % 1_000_000)
const duration = Number(process.env.CHAOS_MINUTES ?? 2) * MINUTE
const STEPS = 5

const routes = (url: string) => `
gateways:
  queue: &hook { transport: webhook, path: /queue, verify: { scheme: none }, conversation: data.body.to }
  collect: { <<: *hook, path: /collect }
  steer: { <<: *hook, path: /steer }
model: { name: "openai-compatible:tiny", base-url: "${url}", api-key: "test-key-123456" }
routes:
  - &all { name: queue, match: { gateway: queue }, skill: helper, retry: { attempts: 1000, delay: 10ms, max-delay: 100ms } }
  - { <<: *all, name: collect, match: { gateway: collect }, while-busy: collect }
  - { <<: *all, name: steer, match: { gateway: steer }, while-busy: steer }
`
const HELPER = '---\nname: helper\ndescription: Helps.\nallowed-tools: note gateway-send\n---\nHelp.\n'
const NOTE = `
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
export default {
  description: 'notes',
  async run({ args }) {
    appendFileSync('log', args.what + '\\n')
    await pause(Math.random() * 40)
    return 'noted'
  },
}`

/**
 * Answers with calls of `note` and `gateway-send`, and with text after `STEPS`. Identifies the
 * message by its number.
 */
function answer({ messages }: ModelRequest): ModelAnswer {
  const [, number] = /number (\d+)\./.exec(JSON.stringify(messages[1])) ?? []
  const step = messages.filter(({ role }) => role === 'assistant').length
  if (step === STEPS) return { text: 'done' }
  const note = (part: string) => ({ name: 'note', args: { what: `${number}/${step}/${part}` } })
  const send = { name: 'gateway-send', args: { text: `${number}/${step}` } }
  return { calls: step === 2 ? [note('a'), send] : [note('a'), note('b')] }
}

for (const store of ['embedded', 'redis'] as const)
  describe(`runs of models under crashes, ${store}, seed ${seed}`, {
    timeout: duration + 5 * MINUTE,
  }, async () => {
    const model = await startOpenAiServer(Array.from({ length: 100_000 }, () => answer))
    after(() => model.close())
    const redis = store === 'redis' ? await startRedisServer() : undefined
    after(() => redis?.stop())
    const env = redis && { REDIS_URL: redis.url }
    const site = openSite({
      ownProcess: true,
      routes: routes(model.url),
      skills: { note: NOTE },
      ...(env && { env }),
    })
    site.write('skills/helper/SKILL.md', HELPER)
    site.write('log', '')
    const start = (which: number) => site.start({ TRIVIUM_DATA_DIR: `.trivium-${which}` })
    const daemons: DaemonProcess[] = await Promise.all((redis ? [1, 2] : [1]).map(start))

    test('no tool runs twice, and each message ends once', async () => {
      const random = createRandom(seed)
      const end = Date.now() + duration
      const modes = ['queue', 'collect', 'steer']
      const sent: string[] = []
      let crashes = 0
      /** Denies all requests to repeat a call. */
      const denyAll = async () => {
        const pending = await daemons[0]?.invoke('approval-list', { status: 'pending' })
        for (const { id } of Array.isArray(pending) ? pending : [])
          await daemons[0]?.invoke('approval-decide', { id, approve: false })
      }
      while (Date.now() < end) {
        for (let more = 0; more < 3; more++) {
          const body = JSON.stringify({
            to: `c${random.between(0, 1)}`,
            text: `This is number ${sent.length}.`,
          })
          const posted = Object((await daemons[0]?.post(`/${modes[random.between(0, 2)]}`, body))?.body)
          sent.push(posted.id)
        }
        await pause(random.between(0, 600))
        const victim = random.between(0, daemons.length - 1)
        await daemons[victim]?.end('SIGKILL')
        crashes++
        daemons[victim] = await start(victim + 1)
        await denyAll()
      }
      const endsOf = async (id: string) => {
        const { history } = Object(await daemons[0]?.invoke('message-show', { id }))
        return history.filter(({ what }: { what: string }) => /^(done|collected|steered)$/.test(what)).length
      }
      for (const id of sent) {
        const countEnds = () => denyAll().then(() => endsOf(id))
        assert.equal(await until(countEnds, `the end of ${id}`), 1)
      }
      const lines = readFileSync(join(site.dir, 'log'), 'utf8').trim().split('\n')
      console.log(
        `${store}: ${sent.length} messages, ${crashes} crashes, ${lines.length} notes, ${model.requests.length} requests`,
      )
      assert.deepEqual(
        lines.filter((line, index) => lines.indexOf(line) !== index),
        [],
        'ran twice',
      )
    })
  })
