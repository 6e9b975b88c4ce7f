import { hash } from 'node:crypto'
import type { LanguageModelMiddleware } from 'ai'
import { z } from 'zod'
import { type Call, createSendCounter, type SendCounter, type Within } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { type Json, pathGet } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { SkillContext } from '../../core/skill.ts'
import type { KeyValues } from '../../core/store.ts'
import { pause } from '../../lib/pause.ts'
import { slimArgs } from '../session/sessions.ts'

/** A stream part of a step. */
type Part = Streamed['stream'] extends ReadableStream<infer One> ? One : never
type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware['wrapStream']>>>

/** `heard`: number of steering messages by then. */
const stepSchema = z.object({
  parts: z.custom<Part>((part) => pathGet(part, 'type') !== undefined).array(),
  heard: z.int().default(0),
})

/** Outcome of a tool call, with its number of sent replies. `waits`: part of it is parked. `runs`: number of runs after approval. */
const toolSchema = z.object({
  result: z.json().exactOptional(),
  error: z.string().exactOptional(),
  sent: z.int().default(0),
  waits: z.boolean().default(false),
  runs: z.int().default(0),
})
type ToolEntry = z.infer<typeof toolSchema>

const PREFIX = 'run:'
/** How long (ms) after its last step a run can be resumed, as dead letters and approvals may take days. */
const KEPT = 30 * 86_400_000
const MOST_ENTRIES = 10_000
const STORE_PAUSE = 500

export type RunRecords = ReturnType<typeof createRunRecords>
export type RunRecord = Awaited<ReturnType<RunRecords['open']>>

/**
 * Records of dispatched model runs, step by step, in the shared store. After a crash, a retry or an approval, a run is replayed from
 * its record and calls the model and tools only for missing steps. Each entry is one write, made before its effects.
 */
export function createRunRecords(kv: KeyValues) {
  /** How often each outermost call or tool call ran the same skill with the same arguments. */
  const counts = new WeakMap<SendCounter, Map<string, number>>()
  const touched = new Set<string>()

  /** A run's name within its outermost call, the same in each attempt. */
  const nameOf = (ctx: SkillContext): string => {
    const { place, skill, depth, sends } = ctx.call
    if (depth === 0) return `${skill}/`
    const what = `${skill}#${hash('sha256', JSON.stringify(slimArgs(ctx))).slice(0, 16)}`
    const known = counts.get(sends) ?? new Map<string, number>()
    const before = known.get(what) ?? 0
    counts.set(sends, known.set(what, before + 1))
    return `${place ?? ''}/${what}.${before}/`
  }

  const read = async (base: string) => {
    const keys = await kv.list(base, MOST_ENTRIES)
    // Runs within its tools have the same prefix.
    const names = keys.map((key) => key.slice(base.length)).filter((name) => /^[\d.]+$/.test(name))
    const values = await Promise.all(names.map(async (name) => (await kv.get(base + name))?.value))
    return new Map(names.map((name, index) => [name, values[index]]))
  }

  const remove = async (rootId: string) => {
    const keys = await kv.list(`${PREFIX}${rootId}/`, MOST_ENTRIES)
    await Promise.all(keys.map(kv.delete))
  }

  return {
    /** The record of the run that `ctx` starts or resumes. */
    async open(ctx: SkillContext) {
      const { rootId } = ctx.call
      touched.add(rootId)
      const name = nameOf(ctx)
      const base = `${PREFIX}${rootId}/${name}`
      return createRecord({ kv, base, name, known: await read(base), call: ctx.call, log: ctx.log })
    },
    /** Deletes the records of an outermost call that has ended. Most have none. */
    end: (rootId: string): Promise<void> | undefined => (touched.delete(rootId) ? remove(rootId) : undefined),
    /** Releases an outermost call that another daemon may resume. */
    leave: (rootId: string) => void touched.delete(rootId),
  }
}

function createRecord(run: {
  kv: KeyValues
  base: string
  name: string
  known: Map<string, Json | undefined>
  call: Call
  log: Log
}) {
  const { kv, base, name, known, call, log } = run
  const steps: z.infer<typeof stepSchema>[] = []
  for (let step = known.get('0'); step !== undefined; step = known.get(String(steps.length)))
    steps.push(stepSchema.parse(step))
  const replayed = steps.length
  let current = -1
  let heard = 0
  /** Pending tool calls of the current step, in order. */
  let calls: (string | undefined)[] = []

  const begin = (parts: readonly Part[]) => {
    current++
    calls = parts.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : []))
  }

  const keepStep = async (parts: readonly Part[]) => {
    const says = parts.some(({ type }) => /^(text-delta|tool-call|file)$/.test(type))
    // A failed or empty step is requested again.
    if (!says || parts.some(({ type }) => type === 'error')) return
    const value = JSON.parse(JSON.stringify({ parts, heard }, bytesAsText))
    const version = await kv.set(`${base}${current + 1}`, value, { ttl: KEPT, ifVersion: 0 })
    if (version === undefined) {
      const reason = 'it is gone on with elsewhere'
      throw new TriviumError('cancelled', { what: `The run of ${call.skill}`, reason })
    }
    begin(parts)
  }

  const keepTool = async (at: string, entry: Partial<ToolEntry>, signal: AbortSignal) => {
    for (;;) {
      try {
        await kv.set(base + at, entry, { ttl: KEPT })
        return
      } catch (error) {
        if (signal.aborted || !(error instanceof TriviumError && error.retryable)) throw error
        await pause(STORE_PAUSE, signal)
      }
    }
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
      const said: Part[] = []
      const recorder = new TransformStream<Part, Part>({
        async transform(part, controller) {
          add(said, part)
          if (part.type === 'finish') await keepStep(said)
          controller.enqueue(part)
        },
      })
      return { ...rest, stream: stream.pipeThrough(recorder) }
    },
  }

  return {
    /** Model middleware: replays known steps, and records new ones before their tools are called. */
    middleware,
    /** Number of known steps. */
    replayed,
    /** Number of steering messages before a known step. */
    heardBy: (step: number) => steps[step]?.heard,
    hears(count: number): void {
      heard = count
    },
    /**
     * Gives what a tool answered before, or runs it and keeps its answer. One that was cut off runs again where it is `repeatable` or
     * somebody approves that; otherwise the model is told. `guarded`: it needs an approval anyway, and has not begun without.
     */
    async tool(
      { name: called, id, repeatable, guarded, signal }: ToolCall,
      tool: (within: Within) => Promise<Json>,
    ): Promise<Json> {
      const index = calls.indexOf(id)
      calls[index] = undefined
      const at = `${current}.${index}`
      const stored = known.get(at)
      const entry = toolSchema.parse(stored ?? {})
      call.sends.add(entry.sent)
      if (entry.error !== undefined) throw new Error(entry.error)
      if (entry.result !== undefined) return entry.result

      const place = `${name}${at}`
      const mayHaveBegun = current < replayed && !entry.waits && !(guarded && entry.runs === 0)
      const isCutOff = mayHaveBegun && !repeatable
      if (isCutOff) log.warn({ tool: called }, 'it is ambiguous whether a tool ran: it was cut off')
      const guard = {
        begins: () => keepTool(at, { runs: entry.runs + 1 }, signal),
        ...(isCutOff && { again: `${place}.${entry.runs}` }),
      }
      const sends = createSendCounter(`${place}/`)
      try {
        const result = await tool({ place, sends, ...(repeatable ? {} : { guard }) })
        await keepTool(at, { result, sent: sends.count }, signal)
        return result
      } catch (thrown) {
        if (isParked(thrown) && !isCutOff) await keepTool(at, { waits: true }, signal)
        if (signal.aborted || isFinal(thrown)) throw thrown
        const isDenied = isCutOff && thrown instanceof TriviumError && thrown.code === 'approval_denied'
        const error = isDenied ? `${UNKNOWN} (${thrown.message})` : reasonOf(thrown)
        await keepTool(at, { error, sent: sends.count }, signal)
        throw isDenied ? new Error(error) : thrown
      } finally {
        call.sends.add(sends.count)
      }
    },
  }
}

type ToolCall = { name: string; id: string; repeatable: boolean; guarded: boolean; signal: AbortSignal }

const UNKNOWN = 'It was cut off and not run again: whether it happened is not known'

function isParked(error: unknown): boolean {
  return error instanceof TriviumError && error.code === 'approval_pending'
}

/** Whether an error ends the attempt: a parked approval, after which the run resumes, or an error that no model can fix. */
export function isFinal(error: unknown): boolean {
  return (
    isParked(error) ||
    (error instanceof TriviumError && /^(recursion_limit|budget_exhausted)$/.test(error.code))
  )
}

/** Stream parts that a replay does not need. */
const PASSING = /^(response-metadata|raw|ping|tool-input-.*)$/

/** Adds a part; merges consecutive pieces of a text. */
function add(parts: Part[], part: Part): void {
  const last = parts.at(-1)
  if (PASSING.test(part.type)) return
  const isPiece = part.type === 'text-delta' || part.type === 'reasoning-delta'
  const isMore = isPiece && last?.type === part.type && last.id === part.id
  if (!isMore || part.providerMetadata || last.providerMetadata) parts.push(part)
  else parts[parts.length - 1] = { ...last, delta: last.delta + part.delta }
}

function bytesAsText(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
