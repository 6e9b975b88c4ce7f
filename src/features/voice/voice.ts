import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import type { Transcribe } from '../../config/schema/transcribe.ts'
import { type Call, createSendCounter } from '../../core/call.ts'
import { reasonOf, toTriviumError } from '../../core/errors.ts'
import { type Json, type JsonObject, parseJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Attachment, Message } from '../../core/message.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { KeyValues, Note } from '../../core/store.ts'
import type { Artifacts } from '../../core/transport.ts'
import { formatDuration } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import type { Budgets } from '../../runtime/model/budget.ts'
import { type Transcribed, transcribeAudio } from '../../runtime/model/transcribe.ts'
import { isAudio, secondsOf } from './audio.ts'

/** The result for one recording: its transcript, or the reason why there is none. */
const heardSchema = z.object({
  file: z.string(),
  text: z.string().exactOptional(),
  language: z.string().exactOptional(),
  seconds: z.number().exactOptional(),
  error: z.string().exactOptional(),
})
type Heard = z.infer<typeof heardSchema>

/** Maximum number of recordings per message that are transcribed. */
const MOST = 5
/**
 * How long (ms) transcripts are kept (as long as a dead letter may be retried), and after which a failure is
 * retried.
 */
const [KEPT, FAILED_KEPT] = [30 * 86_400_000, 600_000]

export type Voice = ReturnType<typeof createVoice>

type VoiceDeps = {
  /** The current configuration; undefined: recordings are not transcribed. */
  transcribe(): Transcribe | undefined
  /** The current environment, for the keys of models. */
  env(): Record<string, string | undefined>
  kv: KeyValues
  artifacts: Pick<Artifacts, 'open'>
  budgets: Pick<Budgets, 'require' | 'spend'>
  note(messageId: string, note: Omit<Note, 'at'>): void
  log: Log
  now(): number
}

/**
 * Transcribes recordings in messages, between the acknowledgement and the first route. Transcripts are kept
 * in the store, so that a crash or another attempt does not ask a model again. If anything fails, the message
 * is dispatched without a transcript.
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
    /** Whether a message has recordings that would be transcribed. */
    wants: (message: Message): boolean => message.attachments.length > 0 && recordings(message).length > 0,
    /** The message with its transcripts. Rejects if the store is unavailable, and after `signal` aborted. */
    async transcribe(message: Message, signal: AbortSignal): Promise<Message> {
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

/**
 * Makes the function that transcribes one recording. Rejects only if `stopped` aborted or the store is
 * unavailable.
 */
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
      const said = await transcribeAudio(settings, deps.env(), audio, signal)
      await pay(settings, message, said, seconds)
      return {
        file: name,
        text: said.text,
        ...defined({ language: said.language, seconds: said.seconds ?? seconds }),
      }
    } catch (error) {
      // The daemon is stopping, or another one has the message: this is not a failure.
      if (stopped.aborted) throw error
      if (toTriviumError(error).code === 'store_unavailable') throw error
      return { file: name, error: reasonOf(error) }
    }
  }
}

/**
 * The transcript becomes part of the text, unless the text is a structured body such as JSON or a form; routes match it
 * anyway.
 */
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

/** Whose budget is charged, and under which name the use is listed. */
function callFor(message: Message): Call {
  return {
    ...{ rootId: message.id, trace: message.trace, caller: { kind: 'route' }, message },
    ...{ sends: createSendCounter(), skill: 'transcription', depth: 0, signal: new AbortController().signal },
  }
}
