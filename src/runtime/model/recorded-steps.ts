import type { LanguageModelMiddleware } from 'ai'
import { z } from 'zod'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { type Json, pathGet } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'

/** A run and the entries of its record that earlier attempts made. */
export type RecordedRun = {
  kv: KeyValues
  /** Prefix of the keys of its entries. */
  base: string
  /** The name of the run within its outermost call. */
  name: string
  /** The entries by name: `<step>` for a step, `<step>.<call>` for a tool call. */
  known: ReadonlyMap<string, Json | undefined>
  call: Call
  log: Log
}

/**
 * How long (ms) after its last step a run can be resumed: somebody may approve it, or retry its
 * dead letter, after days.
 */
export const RUN_RETENTION = 30 * DAY

/** A stream part of a step. */
type Part = Streamed['stream'] extends ReadableStream<infer One> ? One : never
type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware['wrapStream']>>>

/** A recorded step. `heard`: the number of steering messages that the model got before it. */
const stepSchema = z.object({
  parts: z.custom<Part>((part) => pathGet(part, 'type') !== undefined).array(),
  heard: z.int().default(0),
})

export type RecordedSteps = ReturnType<typeof createRecordedSteps>

/** The steps of the model in a run: replays known ones, and records new ones. */
export function createRecordedSteps({ kv, base, known, call }: RecordedRun) {
  const steps: z.infer<typeof stepSchema>[] = []
  for (let step = known.get('0'); step !== undefined; step = known.get(String(steps.length)))
    steps.push(stepSchema.parse(step))
  const replayed = steps.length
  let current = -1
  let messageCount = 0
  /** Pending tool calls of the current step, in order. */
  let calls: (string | undefined)[] = []

  const begin = (parts: readonly Part[]) => {
    current++
    calls = parts.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : []))
  }

  const recordStep = async (parts: readonly Part[]) => {
    const isEmpty = !parts.some(({ type }) => /^(text-delta|tool-call|file)$/.test(type))
    const hasFailed = parts.some(({ type }) => type === 'error')
    // Such a step is not recorded, so that a resumed run requests it again.
    if (isEmpty || hasFailed) return
    const value = JSON.parse(JSON.stringify({ parts, heard: messageCount }, bytesAsText))
    const version = await kv.set(`${base}${current + 1}`, value, { ttl: RUN_RETENTION, ifVersion: 0 })
    if (version === undefined) {
      const reason = 'another process has continued it'
      throw new TriviumError('cancelled', { what: `The run of ${call.skill}`, reason })
    }
    begin(parts)
  }

  const middleware: LanguageModelMiddleware = {
    specificationVersion: 'v4',
    async wrapStream({ doStream }) {
      const parts = steps[current + 1]?.parts
      if (parts) {
        begin(parts)
        return { stream: ReadableStream.from(parts) }
      }
      const { stream, ...rest } = await doStream()
      const received: Part[] = []
      const recorder = new TransformStream<Part, Part>({
        async transform(part, controller) {
          appendPart(received, part)
          if (part.type === 'finish') await recordStep(received)
          controller.enqueue(part)
        },
      })
      return { ...rest, stream: stream.pipeThrough(recorder) }
    },
  }

  return {
    /**
     * Model middleware: replays known steps, and records new ones before their tools are called.
     */
    middleware,
    /** Number of known steps. */
    replayed,
    /** Number of steering messages before a known step; undefined for a new one. */
    messagesBefore: (step: number) => steps[step]?.heard,
    /** Sets the number of steering messages before the next step. */
    setMessageCount(count: number): void {
      messageCount = count
    },
    isReplaying: () => current < replayed,
    /** The name of the record entry for a tool call of the current step. Takes each call once. */
    takeCall(id: string): string {
      const index = calls.indexOf(id)
      calls[index] = undefined
      return `${current}.${index}`
    },
  }
}

/** Stream parts that a replay does not need. */
const NOT_RECORDED = /^(response-metadata|raw|ping|tool-input-.*)$/

/** Adds a part; merges consecutive pieces of a text. */
function appendPart(parts: Part[], part: Part): void {
  const last = parts.at(-1)
  if (NOT_RECORDED.test(part.type)) return
  const isDelta = part.type === 'text-delta' || part.type === 'reasoning-delta'
  const continuesLast = isDelta && last?.type === part.type && last.id === part.id
  if (!continuesLast || part.providerMetadata || last.providerMetadata) parts.push(part)
  else parts[parts.length - 1] = { ...last, delta: last.delta + part.delta }
}

function bytesAsText(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
