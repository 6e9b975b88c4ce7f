import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite, type Site } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { type SpeechAnswer, silence, startSpeechServer } from '../fixtures/speech-server.ts'
import { until } from '../fixtures/until.ts'

const SKILLS = {
  note: `import { appendFileSync } from 'node:fs'
const at = (name) => new URL('../../' + name, import.meta.url)
export default { description: 'notes', run({ message }) {
  const { text, data, attachments } = message
  const files = attachments.map(({ name }) => name)
  appendFileSync(at('notes'), JSON.stringify({ text, transcript: data.transcript, recordings: data.recordings, files, route: 'ROUTE' }) + '\\n')
} }`,
}
const skill = (route: string) => SKILLS.note.replace('ROUTE', route)

type Note = {
  text: string
  transcript?: string
  recordings: { error?: string; file: string }[]
  files: string[]
  route: string
}
const notes = ({ dir }: Site): Note[] => {
  const path = join(dir, 'notes')
  return existsSync(path)
    ? readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : []
}

for (const kind of ['embedded', 'redis'] as const) {
  describe(`recordings in messages, on ${kind}`, { timeout: 300_000 }, () => {
    test('are transcribed before routing, once over kills, and their message is never lost', async (t) => {
      const redis = kind === 'redis' ? await startRedisServer() : undefined
      const script: SpeechAnswer[] = []
      const speech = await startSpeechServer(
        (_, at) => script[at] ?? { status: 500, message: 'the script has no more' },
      )
      t.after(async () => {
        await speech.close()
        await redis?.stop()
      })
      const site = openSite({
        ownProcess: 'first',
        routes: `
gateways:
  hook: { transport: webhook, path: /hook, conversation: data.body.who, text: data.body.text }
  raw: { transport: webhook, path: /raw }
transcribe:
  { model: openai-compatible:whisper-1, base-url: "${speech.url}", api-key: a-key, gateways: [hook], language: en, max-duration: 30s, timeout: 20s }
model: { budget: { total: 100 tokens/1d } }
routes:
  - { name: urgent, match: { gateway: hook, text: "*help me*" }, skill: urgent, retry: { attempts: 2, delay: 10ms } }
  - { name: rest, skill: rest, retry: { attempts: 2, delay: 10ms } }
`,
        skills: { urgent: skill('urgent'), rest: skill('rest') },
        env: redis ? { REDIS_URL: redis.url } : {},
      })
      let daemon = await site.start()
      const form = (fields: Record<string, string>, file?: [string, Buffer, string]) => {
        const boundary = 'b0undary'
        const part = (head: string, body: Buffer) =>
          Buffer.concat([
            Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
            body,
            Buffer.from('\r\n'),
          ])
        const parts = Object.entries(fields).map(([name, value]) =>
          part(`name="${name}"`, Buffer.from(value)),
        )
        if (file) parts.push(part(`name="clip"; filename="${file[0]}"\r\nContent-Type: ${file[2]}`, file[1]))
        return {
          body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
          type: `multipart/form-data; boundary=${boundary}`,
        }
      }
      const post = async (path: string, { body, type }: ReturnType<typeof form>) => {
        const answer = await daemon.post(path, body, { 'content-type': type })
        assert.equal(answer.status, 202)
        return String(Object(answer.body).id)
      }
      const clip: [string, Buffer, string] = ['clip.wav', silence(2), 'audio/wav']
      const noted = (count: number) =>
        until(() => (notes(site).length >= count ? notes(site) : undefined), `${count} notes`)
      const history = async (id: string) =>
        Object(await daemon.invoke('message-show', { id })).history.map(({ what }: { what: string }) => what)

      // A message is acknowledged at once although the model does not answer, and messages of other
      // conversations do not wait.
      script.push({ hang: true }, { text: ' Please, help me. ', seconds: 2, tokens: 40 })
      const id = await post('/hook', form({ who: 'ada', text: '' }, clip))
      await until(() => speech.requests.length === 1, 'the model to be asked')
      const received = Object(await daemon.invoke('gateway-receive', { gateway: 'hook', timeout: 10_000 }))
      assert.deepEqual([received.id, received.text, received.attachments[0].name], [id, '', 'clip.wav'])
      const other = await post('/hook', form({ who: 'bob', text: 'no voice' }))
      assert.deepEqual(
        (await noted(1)).map(({ text, route }) => [text, route]),
        [['no voice', 'rest']],
      )
      const isDone = async () => Object(await daemon.invoke('message-show', { id: other })).outcome === 'done'
      await until(isDone, 'the other to be done')
      await daemon.end('SIGKILL')
      daemon = await site.start()
      const [, first] = await noted(2)
      assert.deepEqual(
        [first?.text, first?.transcript, first?.route, first?.files],
        ['Please, help me.', 'Please, help me.', 'urgent', ['clip.wav']],
      )
      assert.deepEqual(speech.requests.at(-1), {
        model: 'whisper-1',
        language: 'en',
        bytes: 16_044,
        authorization: 'Bearer a-key',
      })
      await until(async () => (await history(id)).includes('transcribed'), 'the history')

      // A recording that fails, is too long or exceeds the budget stays a file, with the reason in
      // the history.
      script.push({ status: 400, message: 'this is no audio' })
      const broken = await post('/hook', form({ who: 'ada', text: 'see the clip' }, clip))
      const [, , second] = await noted(3)
      assert.deepEqual([second?.text, second?.transcript, second?.route], ['see the clip', undefined, 'rest'])
      assert.match(second?.recordings[0]?.error ?? '', /this is no audio/)
      await until(async () => (await history(broken)).includes('not transcribed'), 'the history')
      await post('/hook', form({ who: 'ada', text: '' }, ['long.wav', silence(31), 'audio/wav']))
      assert.match((await noted(4))[3]?.recordings[0]?.error ?? '', /takes 31 s; max-duration is 30s/)
      script.push({ text: 'and the budget', seconds: 2, tokens: 70 })
      await post('/hook', form({ who: 'ada', text: 'first' }, clip))
      assert.equal((await noted(5))[4]?.text, 'first\n\nand the budget')
      await post('/hook', form({ who: 'ada', text: '' }, clip))
      assert.match((await noted(6))[5]?.recordings[0]?.error ?? '', /budget|100/i)
      // Recordings of other gateways and other files are not transcribed.
      await post('/raw', form({ who: 'x' }, clip))
      await post('/hook', form({ who: 'x', text: 'a picture' }, ['a.png', Buffer.from('png'), 'image/png']))
      const last = (await noted(8)).slice(6)
      assert.deepEqual(
        last.map(({ recordings, transcript }) => [recordings, transcript]),
        [
          [undefined, undefined],
          [undefined, undefined],
        ],
      )
      assert.equal(speech.requests.length, script.length)
      await daemon.end()
    })
  })
}
