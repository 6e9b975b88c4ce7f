import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config/load-config.ts'
import { allKeys } from '../../core/all-keys.ts'
import { toTriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import { messageSchema } from '../../core/message.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { Daemon } from '../../daemon.ts'
import { defined } from '../../lib/defined.ts'
import { type Environs, usage } from '../command.ts'
import { createOwnDaemon } from '../own-daemon.ts'
import { type Case, type Recorded, readCases, readRecord, writeRecord } from './cases.ts'
import { judge, type Outcome, type ToolUse, usesOf } from './judge.ts'

export type EvaluationMode =
  /** Replays the recording. */
  | 'recorded'
  /** Calls the model and the tools. */
  | 'live'
  /** Like `live`, and stores a recording. */
  | 'record'

/** The result of one case. */
export type CaseResult = {
  name: string
  ok: boolean
  wrong: string[]
  text: string
  tools: ToolUse[]
  tokens: number
  ms: number
}

/** The result of all cases. `file`: the recording. */
export type Evaluation = {
  skill: string
  mode: EvaluationMode
  ok: boolean
  cases: CaseResult[]
  file?: string
}

/** An unused address, so that a recorded run fails if it needs more than the recording. */
const UNUSED_ADDRESS = 'http://127.0.0.1:9/v1'
/** The name of the route and of the gateway in messages of cases. */
const ROUTE = 'evaluation'
/** Shorter values of secret variables are not redacted. */
const SHORTEST_SECRET = 8

/**
 * Runs the cases of a skill one after another, in a daemon of their own with an empty data
 * directory, so that nothing is stored or sent elsewhere. Calls `onCase` before each case.
 */
export async function evaluate(
  environs: Environs,
  { name, mode, only }: { name: string; mode: EvaluationMode; only: string | undefined },
  onCase: (index: number, total: number, name: string) => void,
): Promise<Evaluation> {
  await using done = new AsyncDisposableStack()
  const dataDir = done.adopt(mkdtempSync(join(tmpdir(), 'trivium-evaluation-')), (dir) =>
    rmSync(dir, { recursive: true, force: true }),
  )
  let recording: Recorded | undefined
  const change = ({ daemon: settings, model, ...config }: Config) => {
    const { redisUrl: _, ...daemon } = { ...settings, dataDir }
    const usedModel =
      recording && mode === 'recorded' ? { name: recording.model, baseUrl: UNUSED_ADDRESS } : model
    return {
      ...config,
      daemon,
      gateways: [],
      routes: [],
      subscriptions: [],
      ...defined({ model: usedModel }),
    }
  }
  const options = { mode: 'local', level: 'error', pretty: true, change } as const
  const { daemon, env } = await createOwnDaemon(environs, options)
  done.defer(daemon.stop)
  const { path } = daemon.manager.describe(name)
  if (path === undefined) throw usage(`Skill ${name} comes with Trivium and has no folder for cases.`)
  const all = await readCases(path, environs.cwd)
  const names = all.map((one) => one.name)
  const isSelected = only === undefined ? () => true : compilePattern(only).test
  const cases = all.filter((one) => isSelected(one.name))
  if (cases.length === 0) throw usage(`There is no case ${only}. Cases: ${names.join(', ')}.`)
  recording = readRecord(path)
  if (mode === 'recorded' && recording) await daemon.reread()
  const results: CaseResult[] = []
  // Keeps earlier recordings of cases that still exist.
  const newCases = new Map(Object.entries(recording?.cases ?? {}).filter(([name]) => names.includes(name)))
  for (const [index, one] of cases.entries()) {
    onCase(index, cases.length, one.name)
    const recordedCase = mode === 'recorded' ? recording?.cases[one.name] : {}
    if (!recordedCase) {
      results.push(notRecorded(one))
      continue
    }
    const { result, entries } = await runCase(daemon, name, one, recordedCase)
    results.push(result)
    if (result.ok) newCases.set(one.name, entries)
  }
  const ok = results.every((result) => result.ok)
  const evaluation = { skill: name, mode, ok, cases: results }
  if (mode !== 'record') return evaluation
  const config = daemon.config()
  const model = modelOf(daemon, name, config.model?.name)
  const secrets = [...config.secrets, ...Object.entries(env).flatMap(secretOf)]
  const newRecord = { version: 1 as const, model, cases: Object.fromEntries(newCases) }
  return { ...evaluation, file: await writeRecord(path, newRecord, secrets) }
}

/**
 * Runs a case like dispatch. Returns the outcome, and the record of the run: the answers of model
 * and tools.
 */
async function runCase(daemon: Daemon, skill: string, one: Case, recorded: Outcome['entries']) {
  const { kv } = daemon.store
  const id = randomUUID()
  const base = `run:${id}/`
  for (const [name, value] of Object.entries(recorded)) await kv.set(base + name, value)
  const conversation = one.conversation ?? one.name
  const args = isJsonObject(one.input) ? one.input : { text: one.input }
  const text = typeof args.text === 'string' ? args.text : ''
  const message = messageSchema.parse({
    id,
    gateway: ROUTE,
    transport: 'cli',
    conversation,
    text,
    from: { id: one.from, verified: true },
    receivedAt: Date.now(),
  })
  const dispatchArgs = { ...args, text, from: one.from, message, route: ROUTE, sessionId: conversation }
  const caller = { kind: 'cli', id: one.from } as const
  const startedAt = performance.now()
  const outcome = await daemon.manager
    .invoke(skill, dispatchArgs, { message, route: ROUTE, rootId: id, caller })
    .then(
      (result) => ({ text: resultText(result) }),
      (thrown: unknown) => {
        const { code, message } = toTriviumError(thrown)
        return { text: '', error: { code, message } }
      },
    )
  const ms = Math.round(performance.now() - startedAt)
  const keys = await allKeys(kv, base)
  const values = await Promise.all(
    keys.map(async (key) => [key.slice(base.length), (await kv.get(key))?.value ?? null] as const),
  )
  const entries: Record<string, Json> = Object.fromEntries(values)
  const wrong = judge(one, { ...outcome, entries })
  const result = { name: one.name, ok: wrong.length === 0, wrong, text: outcome.text, ...usesOf(entries), ms }
  return { result, entries }
}

function resultText(result: unknown): string {
  if (typeof result === 'string') return result
  return String(Object(result).text ?? JSON.stringify(result) ?? '')
}

function notRecorded({ name }: Case): CaseResult {
  const wrong = ['it is not recorded; run with --record, or --live']
  return { name, ok: false, wrong, text: '', tools: [], tokens: 0, ms: 0 }
}

/** The model that a skill names, or else the configured one. */
function modelOf({ manager }: Daemon, skill: string, configured = 'none:none'): string {
  const { model } = manager.get(skill)?.metadata ?? {}
  const own: unknown = typeof model === 'string' ? model : (Object(model).name ?? Object(model).id)
  return typeof own === 'string' ? own : configured
}

/** The value of a variable that is named like a key, token, secret or password. */
function secretOf([name, value]: [string, string | undefined]): string[] {
  return /KEY|TOKEN|SECRET|PASS/i.test(name) && value && value.length >= SHORTEST_SECRET ? [value] : []
}
