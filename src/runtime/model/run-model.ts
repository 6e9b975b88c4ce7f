import type {
  FilePart,
  LanguageModelUsage,
  ModelMessage,
  StepResult,
  TelemetryOptions,
  TextPart,
  TextStreamPart,
  ToolSet,
} from 'ai'
import { z } from 'zod'
import type { Spent } from '../../core/budget.ts'
import type { ModelStep, Steer } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { type Attachment, attachmentSchema, type Message } from '../../core/message.ts'
import { loadPart } from '../../core/parts.ts'
import type { SkillContext } from '../../core/skill.ts'
import { timerDuration } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { runBounded } from '../bounded.ts'
import { skillOfTool } from '../names.ts'
import { orShorthand } from '../parse-settings.ts'
import { attachmentSettings } from './attachments.ts'
import { exactArguments } from './exact-arguments.ts'
import { createFailover, isPermanent } from './failover.ts'
import { endsAttempt } from './recorded-tools.ts'
import { type Candidates, type ModelSources, resolveModels } from './resolve-models.ts'
import type { RunRecord } from './run-record.ts'
import { createSteering } from './steering.ts'
import { createToolUses, type ToolUses } from './tool-uses.ts'

const settings = z.strictObject({
  name: z.string().min(1).optional(),
  fallback: z.array(z.string().min(1)).max(10).optional(),
  'max-steps': z.number().int().min(1).max(200).default(20),
  /** Maximum input plus output tokens of all steps. */
  'max-tokens': z.number().int().min(1).default(200_000),
  'max-output-tokens': z.number().int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  attachments: attachmentSettings,
  timeout: timerDuration.default(120_000),
  retries: z.number().int().min(0).max(10).default(2),
})

/**
 * `model: anthropic:<model>`, or `{name, fallback, max-steps, max-tokens, max-output-tokens,
 * temperature, timeout, retries}`.
 */
export const modelSettings = orShorthand('name', settings, { name: 'id' })

export type ModelRun = {
  /** `provider:model` names: the first, and its fallbacks in order. */
  models: readonly string[]
  sources: ModelSources
  settings: z.infer<typeof settings>
  instructions: string
  input: string
  /** Files passed with the input. */
  files?: readonly FilePart[]
  tools: ToolSet
  /** The record of earlier attempts, to which this one is added. */
  record?: RunRecord | undefined
  /** Messages that arrive during the run. */
  steer?: Steer | undefined
  /** Renders such a message for the model. */
  renderArrival?(message: Message): string
  onModel?: ((step: ModelStep) => void) | undefined
  /** Called with the usage of each step, before the next step begins. */
  spend: (usage: Spent) => Promise<void>
  /** Tracing options. */
  telemetry: TelemetryOptions | undefined
}

/**
 * Result of a run. `trace`: the whole conversation with the model. `steps`: number of steps.
 * `replayed`: number of those from earlier attempts, whose tokens are not counted. `finish`: why
 * the answer is incomplete or empty. `model`: the model that answered last. `failed`: models that
 * failed before it. `ms`: duration.
 */
export type ModelOutcome = Awaited<ReturnType<typeof stream>>

/**
 * Runs a model with its tools until it answers. Throws `model_limit`, `skill_timeout`,
 * `model_failed`, `model_unusable`, or a tool's error.
 */
export async function runModel({ call, log, signal: parent }: SkillContext, run: ModelRun) {
  const { settings } = run
  const candidates = await resolveModels({ ...run, log })
  return runBounded({ skill: call.skill, parent, timeout: settings.timeout }, async (signal) => {
    const controller = new AbortController()
    try {
      const combined = AbortSignal.any([signal, controller.signal])
      return await stream({ ...run, ...candidates, skill: call.skill, log, signal: combined })
    } catch (error) {
      // Ends tools that still run, and prevents the next step.
      controller.abort(error)
      throw await asModelError(run.models.join(', '), error)
    }
  })
}

type Streamed = ModelRun & Candidates & { skill: string; log: Log; signal: AbortSignal }

/** Maximum characters of output per run, against endless streams. */
const MAX_OUTPUT = 4_000_000

async function stream(run: Streamed) {
  const { isStepCount, streamText, wrapLanguageModel } = await loadPart('model', () => import('ai'))
  const { settings, log, signal, record, files = [], candidates, failed } = run
  const { retries, timeout } = settings
  const failover = createFailover({ candidates, failed, retries, timeout, log })
  const steering = createSteering(run)
  const uses = createToolUses()
  run.onModel?.({})
  const startedAt = Date.now()
  const input: TextPart = { type: 'text', text: run.input }
  const result = streamText({
    model: wrapLanguageModel({
      model: candidates[0].model,
      middleware: [...(record ? [record.middleware] : []), exactArguments, failover.middleware],
    }),
    instructions: run.instructions,
    prompt: files.length > 0 ? [{ role: 'user', content: [input, ...files] }] : run.input,
    tools: run.tools,
    stopWhen: [
      isStepCount(settings['max-steps']),
      ({ steps }) => tokensOf(steps) >= settings['max-tokens'],
      // A tool ended the attempt. The other tools of the step finish first.
      ({ steps }) =>
        steps.at(-1)?.content.some((part) => part.type === 'tool-error' && endsAttempt(part.error)) ?? false,
    ],
    prepareStep: steering.prepareStep,
    maxRetries: retries,
    abortSignal: signal,
    ...defined({
      maxOutputTokens: settings['max-output-tokens'],
      temperature: settings.temperature,
      telemetry: run.telemetry,
    }),
    // Errors arrive as stream parts; without this the SDK would print them.
    onError() {},
  })
  const replayed = record?.replayed ?? 0
  await follow(run, result.stream, { replayed, uses, modelOf: failover.modelOf })
  const [text, steps] = await Promise.all([result.text, result.steps])
  requireFinished(run, text, steps, failover.modelOf(0))
  const finish = text === '' ? 'nothing' : steps.at(-1)?.finishReason
  const exchanged = steps.flatMap(({ response }, at) => [...steering.before(at), ...response.messages])
  const trace: ModelMessage[] = [{ role: 'user', content: run.input }, ...exchanged]
  const { inputTokens, outputTokens } = usageOf(steps.slice(replayed))
  return {
    model: failover.modelOf(steps.length - replayed - 1),
    text,
    trace,
    steps: steps.length,
    inputTokens,
    outputTokens,
    ms: Date.now() - startedAt,
    tools: uses.list(),
    files: filesOf(steps),
    ...(failed.length > 0 && {
      failed: failed.map(({ model, error }) => ({ model, reason: reasonOf(error) })),
    }),
    ...(replayed > 0 && { replayed }),
    ...(finish !== 'stop' && defined({ finish })),
  }
}

/** Reports and charges the parts of an answer as they arrive. Throws the error that ended it. */
async function follow(
  run: Streamed,
  parts: AsyncIterable<TextStreamPart<ToolSet>>,
  to: { replayed: number; uses: ToolUses; modelOf(step: number): string },
): Promise<void> {
  const { replayed, uses, modelOf } = to
  let endedSteps = 0
  let size = 0
  let endingError: unknown
  for await (const part of parts) {
    const known = endedSteps < replayed ? { known: true } : {}
    size += lengthOf(part)
    if (size > MAX_OUTPUT) throw limitError(run.skill, `${MAX_OUTPUT} characters`)
    if (part.type === 'text-delta') run.onModel?.({ text: part.text, ...known })
    if (part.type === 'tool-call') {
      run.onModel?.({ tool: skillOfTool(part.toolName), ...known })
      uses.begin(part)
    }
    if (part.type === 'tool-result' || part.type === 'tool-error') uses.end(part)
    if (part.type === 'finish-step') {
      endedSteps++
      if (endedSteps > replayed) {
        const { inputTokens = 0, outputTokens = 0 } = part.usage
        await run.spend({ model: modelOf(endedSteps - replayed - 1), inputTokens, outputTokens })
      }
      if (part.finishReason === 'tool-calls') run.onModel?.({})
    }
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') throw run.signal.reason
    if (part.type === 'tool-error') {
      const { toolName: tool, error } = part
      if (endsAttempt(error)) endingError ??= error
      else run.log.warn({ tool, reason: reasonOf(error) }, `a tool call of a model ${outcomeOf(error)}`)
    }
  }
  if (endingError !== undefined) throw endingError
}

/** A person or a rule denied the call, or the tool failed. */
function outcomeOf(error: unknown): string {
  const isDenied = error instanceof TriviumError && /^(approval_denied|forbidden)$/.test(error.code)
  return isDenied ? 'was denied' : 'failed'
}

/** The number of characters of a part of an answer. */
function lengthOf(part: TextStreamPart<ToolSet>): number {
  if ('text' in part) return part.text.length
  return 'delta' in part ? part.delta.length : 0
}

/** Throws if the model was stopped by a limit, or answered nothing at all. */
function requireFinished(
  { settings, skill }: Streamed,
  text: string,
  steps: readonly StepResult<ToolSet>[],
  model: string,
): void {
  const { 'max-steps': maxSteps, 'max-tokens': maxTokens } = settings
  const wantsMore = steps.at(-1)?.finishReason === 'tool-calls'
  if (wantsMore && tokensOf(steps) >= maxTokens) throw limitError(skill, `${maxTokens} tokens`)
  if (wantsMore && steps.length >= maxSteps) throw limitError(skill, `${maxSteps} steps`)
  if (text === '' && steps.every(({ toolCalls }) => toolCalls.length === 0))
    throw new TriviumError('model_failed', { model, reason: 'its answer is empty' })
}

/** Maximum number of files in an answer. */
const MAX_FILES = 10
/**
 * Matches tool results with files for the reply. A message that a tool has read does not match: it
 * has a gateway.
 */
const replySchema = z.object({
  attachments: z.array(attachmentSchema).max(MAX_FILES),
  gateway: z.undefined().optional(),
})

/** The files that tools saved, which are attached to the answer. */
function filesOf(steps: readonly { toolResults: readonly { output: unknown }[] }[]): Attachment[] {
  const saved = steps
    .flatMap(({ toolResults }) => toolResults)
    .flatMap(({ output }) => replySchema.safeParse(output).data?.attachments ?? [])
  return [...new Map(saved.map((one) => [one.sha256, one])).values()].slice(0, MAX_FILES)
}

type Step = { usage: LanguageModelUsage }

function usageOf(steps: readonly Step[]): { inputTokens: number; outputTokens: number } {
  const sum = (which: 'inputTokens' | 'outputTokens') =>
    steps.reduce((total, { usage }) => total + (usage[which] ?? 0), 0)
  return { inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') }
}

function tokensOf(steps: readonly Step[]): number {
  const { inputTokens, outputTokens } = usageOf(steps)
  return inputTokens + outputTokens
}

function limitError(name: string, limit: string): TriviumError {
  return new TriviumError('model_limit', { name, limit })
}

/**
 * Converts an error of a model to a TriviumError. Permanent ones (a wrong key, an unknown model)
 * get a code that is not retried.
 */
async function asModelError(model: string, error: unknown): Promise<Error> {
  if (error instanceof TriviumError) return error
  const { RetryError } = await import('ai')
  const last = RetryError.isInstance(error) ? error.lastError : error
  if (last instanceof TriviumError) return last
  return new TriviumError(
    isPermanent(last) ? 'model_unusable' : 'model_failed',
    { model, reason: reasonOf(last) },
    { cause: error },
  )
}
