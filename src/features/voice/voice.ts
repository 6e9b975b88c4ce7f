import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import { type Call, createSendCounter } from '../../core/call.ts'
import { reasonOf, toTriviumError } from '../../core/errors.ts'
import { type Json, type JsonObject, parseJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Attachment, Message } from '../../core/message.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { KeyValues, Note } from '../../core/store.ts'
import type { Transcribe } from '../../core/transcribe.ts'
import type { Artifacts } from '../../core/transport.ts'
import { formatDuration } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import type { Budgets } from '../../runtime/model/budget.ts'
import { type Transcribed, transcribeAudio } from '../../runtime/model/transcribe.ts'
import { isAudio, secondsOf } from './audio.ts'

/** What became of one recording: what was said, or why nobody knows. */
const heardSchema = z.object({
  file: z.string(),
  text: z.string().exactOptional(),
  language: z.string().exactOptional(),
  seconds: z.number().exactOptional(),
  error: z.string().exactOptional(),
})
type Heard = z.infer<typeof heardSchema>

/** Recordings of one message that are transcribed. */
const MOST = 5
/** As long as a dead letter may be sent again; and before a failure is tried anew with a message that comes again (ms). */
const [KEPT, FAILED_KEPT] = [30 * 86_400_000, 600_000]

export type Voice = ReturnType<typeof createVoice>

type VoiceDeps = {
  /** As configured now; undefined: recordings stay files. */
  transcribe(): Transcribe | undefined
  env: Record<string, string | undefined>
  kv: KeyValues
  artifacts: Pick<Artifacts, 'open'>
  budgets: Pick<Budgets, 'require' | 'spend'>
  note(messageId: string, note: Omit<Note, 'at'>): void
  log: Log
  now(): number
}

/**
 * Has what people say in messages written down, between the acknowledgement and the first route. What was paid for is kept on
 * the store, so that a crash or another attempt asks no model again. Whatever fails, the message goes on.
 */
export function createVoice(deps: VoiceDeps) {
  const { kv, log } = deps

  const recordings = (message: Message): Attachment[] => {
    const { gateways = ['*'] } = deps.transcribe() ?? { gateways: [] }
    const isHere = gateways.some((name) => compilePattern(name).test(message.gateway))
    return isHere ? message.attachments.filter(isAudio).slice(0, MOST) : []
  }

  const listen = createListener(deps)

  return {
    /** Whether a message has something that would be written down. */
    wants: (message: Message): boolean => message.attachments.length > 0 && recordings(message).length > 0,
    /** The message with what is said in it. Rejects where the store is away, and after `signal` aborted. */
    async hear(message: Message, signal: AbortSignal): Promise<Message> {
      const settings = deps.transcribe()
      const key = `voice/${message.id}`
      const known = z.array(heardSchema).safeParse((await kv.get(key))?.value).data
      if (known) return withWords(message, known)
      if (!settings) return message
      const heard: Heard[] = []
      for (const file of recordings(message)) heard.push(await listen(settings, file, message, signal))
      const isWhole = heard.every(({ error }) => error === undefined)
      await kv.set(
        key,
        heard.map((one): Json => ({ ...one })),
        { ttl: isWhole ? KEPT : FAILED_KEPT },
      )
      for (const one of heard) {
        const what = one.error === undefined ? 'transcribed' : 'not transcribed'
        deps.note(message.id, { road: 'dispatch', what, detail: { ...one, model: settings.model } })
        if (one.error)
          log.warn(
            { messageId: message.id, file: one.file, reason: one.error },
            'a recording was not transcribed',
          )
      }
      return withWords(message, heard)
    },
  }
}

/** Makes what has one recording written down. Rejects only where `stopped` aborted or the store is away. */
function createListener(deps: VoiceDeps) {
  const pay = (
    { model, price }: Transcribe,
    message: Message,
    said: Transcribed,
    known: number | undefined,
  ) => {
    const { inputTokens, outputTokens, seconds = known } = said
    const money = price === undefined || seconds === undefined ? undefined : (price * seconds) / 60
    return deps.budgets.spend(callFor(message), { model, inputTokens, outputTokens, ...defined({ money }) })
  }

  return async (
    settings: Transcribe,
    file: Attachment,
    message: Message,
    stopped: AbortSignal,
  ): Promise<Heard> => {
    const { name, size, sha256 } = file
    try {
      if (size > settings.maxSize) throw new Error(`it has ${size} bytes; max-size is ${settings.maxSize}`)
      const audio = await buffer(await deps.artifacts.open(sha256))
      const seconds = secondsOf(audio)
      if (seconds !== undefined && seconds * 1000 > settings.maxDuration)
        throw new Error(
          `it takes ${Math.round(seconds)} s; max-duration is ${formatDuration(settings.maxDuration)}`,
        )
      await deps.budgets.require(callFor(message))
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(settings.timeout)])
      const said = await transcribeAudio(settings, deps.env, audio, signal)
      await pay(settings, message, said, seconds)
      return {
        file: name,
        text: said.text,
        ...defined({ language: said.language, seconds: said.seconds ?? seconds }),
      }
    } catch (error) {
      // The daemon stops, or another has the message: it is no failure.
      if (stopped.aborted) throw error
      if (toTriviumError(error).code === 'store_unavailable') throw error
      return { file: name, error: reasonOf(error) }
    }
  }
}

/** What is said becomes part of the text, but for one that is a body of its own, such as JSON or a form. */
function withWords(message: Message, heard: readonly Heard[]): Message {
  const said = heard.flatMap(({ text }) => (text ? [text] : [])).join('\n\n')
  const data: JsonObject = {
    ...message.data,
    recordings: heard.map((one): Json => ({ ...one })),
    ...(said === '' ? {} : { transcript: said }),
  }
  const isBody = message.transport === 'webhook' && typeof parseJson(message.text) === 'object'
  const text = [message.text, said].filter((each) => each.trim() !== '').join('\n\n')
  return { ...message, data, text: isBody || said === '' ? message.text : text }
}

/** In whose name a model is asked, and what its use is listed under. */
function callFor(message: Message): Call {
  return {
    ...{ rootId: message.id, trace: message.trace, caller: { kind: 'route' }, message },
    ...{ sends: createSendCounter(), skill: 'transcription', depth: 0, signal: new AbortController().signal },
  }
}
