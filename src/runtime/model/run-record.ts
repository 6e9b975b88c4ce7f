import { hash } from 'node:crypto'
import { allKeys } from '../../core/all-keys.ts'
import type { CallOverrides, SendCounter } from '../../core/call.ts'
import type { Json } from '../../core/json.ts'
import type { SkillContext } from '../../core/skill.ts'
import type { KeyValues } from '../../core/store.ts'
import { slimArgs } from '../session/session-entries.ts'
import { createRecordedSteps, type RecordedRun } from './recorded-steps.ts'
import { runRecordedTool, type ToolCall } from './recorded-tools.ts'

const PREFIX = 'run:'

export type RunRecords = ReturnType<typeof createRunRecords>
export type RunRecord = Awaited<ReturnType<RunRecords['open']>>

/**
 * Records of dispatched model runs, step by step, in the shared store. After a crash, a retry or an
 * approval, a run is replayed from its record and calls the model and tools only for missing steps.
 * Each entry is one write, made before its effects.
 */
export function createRunRecords(kv: KeyValues) {
  /**
   * How often the same skill ran with the same arguments, within each outermost call or tool call.
   * The key is their send counter, because each of them has its own.
   */
  const counts = new WeakMap<SendCounter, Map<string, number>>()
  /** The root ids of the outermost calls that may have records. */
  const recorded = new Set<string>()

  /** A run's name within its outermost call, the same in each attempt. */
  const nameOf = (ctx: SkillContext): string => {
    const { place, skill, depth, sends } = ctx.call
    if (depth === 0) return `${skill}/`
    const invocation = `${skill}#${hash('sha256', JSON.stringify(slimArgs(ctx))).slice(0, 16)}`
    const ofCall = counts.get(sends) ?? new Map<string, number>()
    const earlier = ofCall.get(invocation) ?? 0
    counts.set(sends, ofCall.set(invocation, earlier + 1))
    return `${place ?? ''}/${invocation}.${earlier}/`
  }

  const read = async (base: string) => {
    const keys = await allKeys(kv, base)
    // Only names of numbers: runs within the tools of this run have the same prefix.
    const names = keys.map((key) => key.slice(base.length)).filter((name) => /^[\d.]+$/.test(name))
    const values = await Promise.all(names.map(async (name) => (await kv.get(base + name))?.value))
    return new Map(names.map((name, index) => [name, values[index]]))
  }

  const remove = async (rootId: string) => {
    const keys = await allKeys(kv, `${PREFIX}${rootId}/`)
    await Promise.all(keys.map(kv.delete))
  }

  return {
    /** The record of the run that `ctx` starts or resumes. */
    async open(ctx: SkillContext) {
      const { rootId } = ctx.call
      recorded.add(rootId)
      const name = nameOf(ctx)
      const base = `${PREFIX}${rootId}/${name}`
      return createRecord({ kv, base, name, known: await read(base), call: ctx.call, log: ctx.log })
    },
    /** Deletes the records of an outermost call that has ended. Most have none. */
    end: (rootId: string): Promise<void> | undefined =>
      recorded.delete(rootId) ? remove(rootId) : undefined,
    /** Forgets an outermost call here, and keeps its records: another daemon may resume it. */
    release: (rootId: string) => void recorded.delete(rootId),
  }
}

function createRecord(run: RecordedRun) {
  const steps = createRecordedSteps(run)
  const { middleware, replayed, messagesBefore, setMessageCount } = steps
  return {
    middleware,
    replayed,
    messagesBefore,
    setMessageCount,
    tool: (call: ToolCall, tool: (within: CallOverrides) => Promise<Json>) =>
      runRecordedTool(run, steps, call, tool),
  }
}
