import type { Budgets, Spent } from '../../core/budget.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { SkillContext } from '../../core/skill.ts'
import { defined } from '../../lib/defined.ts'
import { withoutRoundingErrors } from '../../lib/rounding.ts'
import { type ReadFiles, readFiles, refusesFiles, withoutParts } from '../model/attachments.ts'
import type { ModelSources } from '../model/resolve-models.ts'
import { type ModelOutcome, type ModelRun, type modelSettings, runModel } from '../model/run-model.ts'
import type { RunRecords } from '../model/run-record.ts'
import { type Catalog, createTools, type findSkillFiles } from '../model/tools.ts'
import { createFence } from './fence.ts'
import { messagesOf, renderPrompt } from './render-prompt.ts'
import type { Prompt } from './skill-file.ts'

/** What a model run used and did. */
type Usage = Omit<ModelOutcome, 'text' | 'trace' | 'files'> & {
  /** The cost in the currency of the prices; absent for a model without a price. */
  money?: number
}

/** The usage of a run of a skill. */
export type ModelUsage = Usage & {
  skill: string
  messageId?: string
}

export type RunParts = {
  /** Access to models, read for each run. */
  sources(): ModelSources
  /** Called after each run that ended with an answer, for the message's history. */
  onUsage?(usage: ModelUsage): void
  /** Step records of dispatched runs. */
  runs?: RunRecords
  /** Budgets of models. */
  budgets?: Budgets
  telemetry?: ModelRun['telemetry']
}

/** A skill of a `SKILL.md`. `files`: the other files in its folder. */
export type PromptSkill = {
  name: string
  prompt: Prompt
  settings: ReturnType<typeof modelSettings.parse>
  metadata: JsonObject
  files: Awaited<ReturnType<typeof findSkillFiles>>
  catalog: Catalog
}

/**
 * Runs a skill: its prompt is the instructions of a model, which may call the tools that the skill
 * allows.
 */
export async function runSkill(skill: PromptSkill, ctx: SkillContext, parts: RunParts) {
  const { name, prompt, settings, metadata, files: skillFiles, catalog } = skill
  const choice = modelsOf(skill, ctx, parts)
  // A model that runs as a tool answers the calling model. It has no listener, and is not steered.
  const isTool = ctx.call.toolDepth !== undefined
  const onModel = isTool ? undefined : ctx.call.onModel
  const steer = isTool ? undefined : ctx.call.steer
  const record = ctx.message && ctx.call.route !== undefined ? await parts.runs?.open(ctx) : undefined
  // A resumed run needs no budget to continue: its earlier steps are already paid for.
  if (!record?.replayed) await parts.budgets?.require(ctx.call)
  ctx.call = { ...ctx.call, toolDepth: ctx.call.depth + 1 }
  const tools = await createTools({ name, metadata, files: skillFiles }, ctx, catalog, record)
  const accounting = accountingOf(ctx, parts)
  let hasPaidStep = false
  const spend: ModelRun['spend'] = (step) => {
    hasPaidStep = true
    return accounting.spend(step)
  }
  const options = { ...choice, settings, tools, record, steer, onModel, telemetry: parts.telemetry, spend }
  const messages = messagesOf(ctx)
  const sentFiles = await readFiles(messages, settings.attachments, ctx)
  const runWith = (sent: ReadFiles) =>
    runModel(ctx, { ...options, ...renderPrompt(prompt, ctx, createFence(), sent), files: sent.parts })
  const outcome = await runWith(sentFiles).catch((error) => {
    // Some models refuse files. They do so at the first step: after one that succeeded, the error
    // has another cause.
    const mayBeFiles = !hasPaidStep && sentFiles.parts.length > 0 && refusesFiles(error)
    if (!mayBeFiles) throw error
    ctx.log.warn({ reason: reasonOf(error) }, 'the model is retried without files')
    return runWith(withoutParts(sentFiles, messages))
  })
  const { text, trace, tools: uses, files: savedFiles, ...usage } = outcome
  ctx.locals.agent = { trace, ...usage }
  report(skill, ctx, { ...usage, tools: uses, ...defined({ money: accounting.paid() }) }, parts)
  ctx.log.info(usage, 'a model answered')
  return savedFiles.length > 0 ? { text, attachments: savedFiles } : text
}

const SUMMARIZE =
  'Summarise this record of a conversation for the one who goes on with it: who wants what, what was said, done and decided, what is open. Keep names, numbers and dates. Write the summary alone.'

/** Low, because languages other than English need more tokens for a word. */
const WORDS_PER_TOKEN = 0.5

/** Summarises the record of a conversation with the model of a skill. */
export async function summarize(
  skill: PromptSkill,
  ctx: SkillContext,
  { history, maxTokens }: { history: string; maxTokens: number },
  parts: RunParts,
): Promise<string> {
  const fence = createFence()
  const instructions = `${fence.notice}\n\n${SUMMARIZE} At most ${Math.ceil(maxTokens * WORDS_PER_TOKEN)} words.`
  const settings = { ...skill.settings, 'max-output-tokens': maxTokens }
  const prompt = { instructions, input: fence.wrap(history, 'history'), settings, tools: {} }
  await parts.budgets?.require(ctx.call)
  const accounting = accountingOf(ctx, parts)
  const { telemetry } = parts
  const run = { ...modelsOf(skill, ctx, parts), ...prompt, telemetry, spend: accounting.spend }
  const { text, trace: _, files: __, ...usage } = await runModel(ctx, run)
  report(skill, ctx, { ...usage, ...defined({ money: accounting.paid() }) }, parts)
  return text
}

/**
 * The models that a run may use, in order of preference. Throws `model_missing` if there is none.
 */
function modelsOf({ name, settings }: PromptSkill, { call }: SkillContext, parts: RunParts) {
  const sources = parts.sources()
  const named = settings.name ?? call.model
  const first = named ?? sources.model?.name
  if (!first) throw new TriviumError('model_missing', { name })
  // The configured fallback is for the configured model, not for one that the skill or call names.
  const fallback = settings.fallback ?? (named === undefined ? sources.model?.fallback : []) ?? []
  return { models: [first, ...fallback], sources }
}

/** Charges a run. Call `spend` after each step. `paid` returns the cost so far, if it is known. */
function accountingOf({ call }: SkillContext, { budgets }: RunParts) {
  let paid: number | undefined
  const spend = async (used: Spent) => {
    const money = await budgets?.spend(call, used)
    if (money !== undefined) paid = withoutRoundingErrors((paid ?? 0) + money)
  }
  return { spend, paid: () => paid }
}

function report({ name }: PromptSkill, { message }: SkillContext, usage: Usage, { onUsage }: RunParts): void {
  onUsage?.({ skill: name, ...defined({ messageId: message?.id }), ...usage })
}
