import type { LanguageModel, LanguageModelUsage, ModelMessage, ToolSet } from 'ai'
import { z } from 'zod'
import type { ModelStep } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { SkillContext } from '../../core/skill.ts'
import { timerDuration } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { runBounded } from '../bounded.ts'
import { orJust } from '../onion.ts'

const settings = z.strictObject({
  id: z.string().min(1).optional(),
  'max-steps': z.number().int().min(1).max(200).default(20),
  /** Tokens of all steps together, in and out. */
  'max-tokens': z.number().int().min(1).default(200_000),
  'max-output-tokens': z.number().int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  timeout: timerDuration.default(120_000),
  retries: z.number().int().min(0).max(10).default(2),
})

/** `model: anthropic:<model>`, or `{id, max-steps, max-tokens, max-output-tokens, temperature, timeout, retries}`. */
export const modelSettings = orJust('id', settings)

type ModelRun = {
  /** As users write it: `provider:model`. */
  modelId: string
  sources: ModelSources
  settings: z.infer<typeof settings>
  instructions: string
  input: string
  tools: ToolSet
  onModel: ((does: ModelStep) => void) | undefined
}

/** What a run gave. `trace` is the whole conversation with the model; tokens are those of all steps. */
export type ModelOutcome = Awaited<ReturnType<typeof stream>>

/** Runs a model with its tools until it answers. Throws `model_limit`, `skill_timeout`, `model_failed`, `model_unusable`, or of a tool. */
export async function runModel({ call, log, signal: parent }: SkillContext, run: ModelRun) {
  const { modelId, settings, sources } = run
  const model = await resolveModel(modelId, sources)
  return runBounded({ skill: call.skill, parent, timeout: settings.timeout }, async (signal) => {
    const controller = new AbortController()
    try {
      const either = AbortSignal.any([signal, controller.signal])
      return await stream({ ...run, model, skill: call.skill, log, signal: either })
    } catch (error) {
      // Other tools, and the next step.
      controller.abort(error)
      throw await asModelError(modelId, error)
    }
  })
}

type Streamed = ModelRun & { model: LanguageModel; skill: string; log: Log; signal: AbortSignal }

async function stream(run: Streamed) {
  const { isStepCount, streamText } = await import('ai')
  const { settings, skill, log, signal } = run
  const maxSteps = settings['max-steps']
  const maxTokens = settings['max-tokens']
  run.onModel?.({})
  const result = streamText({
    model: run.model,
    instructions: run.instructions,
    prompt: run.input,
    tools: run.tools,
    stopWhen: [isStepCount(maxSteps), ({ steps }) => tokensOf(steps) >= maxTokens],
    maxRetries: settings.retries,
    abortSignal: signal,
    ...defined({ maxOutputTokens: settings['max-output-tokens'], temperature: settings.temperature }),
    // Errors arrive as parts of the stream; without this the SDK prints them.
    onError() {},
  })
  for await (const part of result.stream) {
    if (part.type === 'text-delta') run.onModel?.({ text: part.text })
    if (part.type === 'tool-call') run.onModel?.({ tool: part.toolName })
    if (part.type === 'finish-step' && part.finishReason === 'tool-calls') run.onModel?.({})
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') throw signal.reason
    if (part.type === 'tool-error') {
      if (isFinal(part.error)) throw part.error
      log.warn({ tool: part.toolName, reason: reasonOf(part.error) }, 'a tool call of a model failed')
    }
  }
  const [text, steps, messages, { inputTokens = 0, outputTokens = 0 }] = await Promise.all([
    result.text,
    result.steps,
    result.responseMessages,
    result.usage,
  ])
  const wantsMore = steps.at(-1)?.finishReason === 'tool-calls'
  if (wantsMore && tokensOf(steps) >= maxTokens) throw limit(skill, `${maxTokens} tokens`)
  if (wantsMore && steps.length >= maxSteps) throw limit(skill, `${maxSteps} steps`)
  const trace: ModelMessage[] = [{ role: 'user', content: run.input }, ...messages]
  return { text, trace, steps: steps.length, inputTokens, outputTokens }
}

/** A parked approval ends this attempt; the invocation begins again when the decision falls. */
function isFinal(error: unknown): boolean {
  return error instanceof TriviumError && /^(approval_pending|recursion_limit)$/.test(error.code)
}

function tokensOf(steps: readonly { usage: LanguageModelUsage }[]): number {
  return steps.reduce((total, { usage }) => total + (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0), 0)
}

function limit(name: string, what: string): TriviumError {
  return new TriviumError('model_limit', { name, limit: what })
}

/** A refusal that stays one (a wrong key, a model that is not there) must not be retried by the dispatcher. */
async function asModelError(model: string, error: unknown): Promise<Error> {
  if (error instanceof TriviumError) return error
  const { APICallError, RetryError } = await import('ai')
  const last = RetryError.isInstance(error) ? error.lastError : error
  const forGood = APICallError.isInstance(last) && !last.isRetryable
  return new TriviumError(
    forGood ? 'model_unusable' : 'model_failed',
    { model, reason: reasonOf(last) },
    { cause: error },
  )
}

export type ModelSources = {
  /** Where skill and route name none. A base URL makes its provider that OpenAI-compatible server; a key replaces the variable. */
  model?: { name: string; baseUrl?: string | undefined; apiKey?: string | undefined } | undefined
  /** Where keys and base URLs of the built-in providers are looked up. */
  env: Record<string, string | undefined>
}

/** The model that `provider:MODEL` names; loads the package of the provider. Throws `model_unusable`. */
async function resolveModel(id: string, { model: given, env }: ModelSources): Promise<LanguageModel> {
  const [, provider, model = ''] = /^([^:]+):(.+)$/s.exec(id) ?? []
  if (!provider) throw unusable(id, 'write it as provider:model, e.g. anthropic:<model>')
  const own = given?.name.startsWith(`${provider}:`) ? given : undefined
  if (own?.baseUrl) return compatible(provider, model, own.baseUrl, own.apiKey)
  if (!/^(anthropic|openai|openai-compatible)$/.test(provider)) {
    const named = given?.baseUrl ? `, ${given.name.split(':')[0]}` : ''
    const known = `anthropic, openai, openai-compatible${named}`
    throw unusable(id, `there is no provider ${provider} (known: ${known})`)
  }

  const prefix = provider.toUpperCase().replaceAll('-', '_')
  const isCompatible = provider === 'openai-compatible'
  // What Compose sets to nothing is not set.
  const apiKey = (own?.apiKey ?? env[`${prefix}_API_KEY`]) || undefined
  const baseURL = env[`${prefix}_BASE_URL`] || undefined
  if (!(isCompatible ? baseURL : apiKey)) {
    const needed = `${prefix}_${isCompatible ? 'BASE_URL' : 'API_KEY'}`
    throw unusable(id, `set ${needed}, in the environment or in .env`)
  }
  if (isCompatible && baseURL) return compatible(provider, model, baseURL, apiKey)
  const settings = defined({ apiKey, baseURL })
  if (provider === 'openai') return (await import('@ai-sdk/openai')).createOpenAI(settings)(model)
  return (await import('@ai-sdk/anthropic')).createAnthropic(settings)(model)
}

async function compatible(name: string, model: string, baseURL: string, apiKey?: string) {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  return createOpenAICompatible({ name, includeUsage: true, baseURL, ...defined({ apiKey }) })(model)
}

function unusable(model: string, reason: string): TriviumError {
  return new TriviumError('model_unusable', { model, reason })
}
