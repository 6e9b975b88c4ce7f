import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import type { Budgets } from '../../core/budget.ts'
import { type Call, createSendCounter } from '../../core/call.ts'
import { reasonOf, toTriviumError } from '../../core/errors.ts'
import { type Json, type JsonObject, parseJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Attachment, Message } from '../../core/message.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { KeyValues, Note } from '../../core/store.ts'
import type { Artifacts } from '../../core/transport.ts'
import { DAY, formatDuration, MINUTE } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { type Transcribed, transcribeAudio } from '../../runtime/model/transcribe.ts'
import { isAudio, secondsOf } from './audio.ts'
import type { Transcribe } from './schema.ts'

/** The result for one recording: its transcript, or the reason why there is none. */
const transcriptSchema = z.object({
  file: z.string(),
  text: z.string().exactOptional(),
  language: z.string().exactOptional(),
  seconds: z.number().exactOptional(),
  error: z.string().exactOptional(),
})
type Transcript = z.infer<typeof transcriptSchema>

/** Maximum number of recordings per message that are transcribed. */
const MAX_RECORDINGS = 5
/** How long (ms) transcripts are kept: as long as a dead letter may be retried. */
const RETENTION = 30 * DAY
/**
 * How long (ms) the transcripts of a message are kept if one failed. A later attempt transcribes
 * all recordings again.
 */
const FAILURE_RETENTION = 10 * MINUTE

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
 * Transcribes recordings in messages, between the acknowledgement and the first route. Transcripts
 * are kept in the store, so that neither a crash nor a retry asks the model again. If anything
 * fails, the message is dispatched without a transcript.
 */
export function createVoice(deps: VoiceDeps) {
  const { kv, log } = deps

  /** The recordings of a message that are to be transcribed. */
  const recordings = (message: Message): Attachment[] => {
    const { gateways = ['*'] } = deps.transcribe() ?? { gateways: [] }
    const isHere = gateways.some((name) => compilePattern(name).test(message.gateway))
    return isHere ? message.attachments.filter(isAudio).slice(0, MAX_RECORDINGS) : []
  }

  const transcribeOne = createTranscriber(deps)

  return {
    /** Whether a message has recordings that would be transcribed. */
    wants: (message: Message): boolean => message.attachments.length > 0 && recordings(message).length > 0,
    /**
     * The message with its transcripts. Rejects if the store is unavailable, and after `signal`
     * aborted.
     */
    async transcribe(message: Message, signal: AbortSignal): Promise<Message> {
      const settings = deps.transcribe()
      const key = `voice/${message.id}`
      const stored = z.array(transcriptSchema).safeParse((await kv.get(key))?.value).data
      if (stored) return withTranscripts(message, stored)
      if (!settings) return message
      const transcripts: Transcript[] = []
      for (const file of recordings(message))
        transcripts.push(await transcribeOne(settings, file, message, signal))
      const isComplete = transcripts.every(({ error }) => error === undefined)
      const ttl = isComplete ? RETENTION : FAILURE_RETENTION
      await kv.set(key, asJson(transcripts), { ttl })
      for (const one of transcripts) {
        const { file, error: reason } = one
        const what = reason === undefined ? 'transcribed' : 'not transcribed'
        deps.note(message.id, { road: 'dispatch', what, detail: { ...one, model: settings.model } })
        if (reason) log.warn({ messageId: message.id, file, reason }, 'a recording was not transcribed')
      }
      return withTranscripts(message, transcripts)
    },
  }
}

/**
 * Makes the function that transcribes one recording. It rejects only if `stopped` has aborted or
 * the store is unavailable.
 */
function createTranscriber(deps: VoiceDeps) {
  /**
   * Charges the budgets. `price`: per minute. `measured`: the duration (s), if the model does not
   * state it.
   */
  const charge = (
    { model, price }: Transcribe,
    message: Message,
    answer: Transcribed,
    measured: number | undefined,
  ) => {
    const { inputTokens, outputTokens, seconds = measured } = answer
    const money = price === undefined || seconds === undefined ? undefined : (price * seconds) / 60
    return deps.budgets.spend(callFor(message), { model, inputTokens, outputTokens, ...defined({ money }) })
  }

  return async (
    settings: Transcribe,
    file: Attachment,
    message: Message,
    stopped: AbortSignal,
  ): Promise<Transcript> => {
    const { name, size, sha256 } = file
    try {
      if (size > settings.maxSize) throw new Error(`it has ${size} bytes; max-size is ${settings.maxSize}`)
      const audio = await buffer(await deps.artifacts.open(sha256))
      const seconds = secondsOf(audio)
      if (seconds !== undefined && seconds * 1000 > settings.maxDuration) {
        const limit = formatDuration(settings.maxDuration)
        throw new Error(`it takes ${Math.round(seconds)} s; max-duration is ${limit}`)
      }
      await deps.budgets.require(callFor(message))
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(settings.timeout)])
      const answer = await transcribeAudio(settings, deps.env(), audio, signal)
      await charge(settings, message, answer, seconds)
      const { text, language } = answer
      return { file: name, text, ...defined({ language, seconds: answer.seconds ?? seconds }) }
    } catch (error) {
      // The daemon is stopping, or another one has the message: this is not a failure.
      if (stopped.aborted) throw error
      if (toTriviumError(error).code === 'store_unavailable') throw error
      return { file: name, error: reasonOf(error) }
    }
  }
}

/**
 * Adds transcripts to a message: to `data`, and to the text, unless the text is a JSON body. Routes
 * can match both.
 */
function withTranscripts(message: Message, transcripts: readonly Transcript[]): Message {
  const transcript = transcripts.flatMap(({ text }) => (text ? [text] : [])).join('\n\n')
  const data: JsonObject = {
    ...message.data,
    recordings: asJson(transcripts),
    ...(transcript === '' ? {} : { transcript }),
  }
  const isBody = message.transport === 'webhook' && typeof parseJson(message.text) === 'object'
  if (isBody || transcript === '') return { ...message, data }
  const text = [message.text, transcript].filter((each) => each.trim() !== '').join('\n\n')
  return { ...message, data, text }
}

function asJson(transcripts: readonly Transcript[]): Json[] {
  return transcripts.map((one): Json => ({ ...one }))
}

/**
 * The call for which budgets are charged: of the skill `transcription`, by the message's sender.
 */
function callFor(message: Message): Call {
  return {
    rootId: message.id,
    trace: message.trace,
    caller: { kind: 'route' },
    message,
    sends: createSendCounter(),
    skill: 'transcription',
    depth: 0,
    signal: new AbortController().signal,
  }
}
