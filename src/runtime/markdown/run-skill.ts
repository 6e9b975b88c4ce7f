import type { Budgets, Spent } from '../../core/budget.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { SkillContext } from '../../core/skill.ts'
import { defined } from '../../lib/defined.ts'
import { type ReadFiles, readFiles, refusesFiles, withoutParts } from '../model/attachments.ts'
import type { ModelSources } from '../model/resolve-models.ts'
import { type ModelOutcome, type ModelRun, type modelSettings, runModel } from '../model/run-model.ts'
import type { RunRecords } from '../model/run-record.ts'
import { type Catalog, createTools, type findSkillFiles } from '../model/tools.ts'
import { createFence } from './fence.ts'
import { messagesOf, renderPrompt } from './render-prompt.ts'
import type { Prompt } from './skill-file.ts'

/** `money`: in the currency of the prices; undefined for a model without a price. */
type Cost = Omit<ModelOutcome, 'text' | 'trace' | 'files'> & { money?: number }

/** The cost of one model run. */
export type ModelUsage = Cost & {
  skill: string
  messageId?: string
}

export type RunParts = {
  /** Access to models, read for each run. */
  sources(): ModelSources
  /** Called after each run, for the message's history. */
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

/** Runs a skill: its prompt is the instructions of a model, which may call the tools that the skill allows. */
export async function runSkill(skill: PromptSkill, ctx: SkillContext, parts: RunParts) {
  const { name, prompt, settings, metadata, files, catalog } = skill
  const choice = modelsOf(skill, ctx, parts)
  // A model that runs as a tool answers the calling model, not the listener.
  const isTool = ctx.call.toolDepth !== undefined
  const onModel = isTool ? undefined : ctx.call.onModel
  const steer = isTool ? undefined : ctx.call.steer
  const record = ctx.message && ctx.call.route !== undefined ? await parts.runs?.open(ctx) : undefined
  // A resumed run continues, as its earlier steps are already paid for.
  if (!record?.replayed) await parts.budgets?.require(ctx.call)
  ctx.call = { ...ctx.call, toolDepth: ctx.call.depth + 1 }
  const tools = await createTools({ name, metadata, files }, ctx, catalog, record)
  const accounting = accountingOf(ctx, parts)
  let hasBegun = false
  const spend: ModelRun['spend'] = (step) => {
    hasBegun = true
    return accounting.spend(step)
  }
  const options = { ...choice, settings, tools, record, steer, onModel, ...accounting, spend }
  const messages = messagesOf(ctx)
  const allFiles = await readFiles(messages, settings.attachments, ctx)
  const runWith = (files: ReadFiles) =>
    runModel(ctx, { ...options, ...renderPrompt(prompt, ctx, createFence(), files), files: files.parts })
  const outcome = await runWith(allFiles).catch((error) => {
    if (hasBegun || allFiles.parts.length === 0 || !refusesFiles(error)) throw error
    ctx.log.warn({ reason: reasonOf(error) }, 'the model is retried without files')
    return runWith(withoutParts(allFiles, messages))
  })
  const { text, trace, tools: uses, files: attachments, ...usage } = outcome
  ctx.locals.agent = { trace, ...usage }
  report(skill, ctx, { ...usage, tools: uses, ...defined({ money: accounting.paid() }) }, parts)
  ctx.log.info(usage, 'a model answered')
  return attachments.length > 0 ? { text, attachments } : text
}

const SUMMARIZE =
  'Summarise this record of a conversation for the one who goes on with it: who wants what, what was said, done and decided, what is open. Keep names, numbers and dates. Write the summary alone.'

/** Summarises the record of a conversation with the model of a skill. */
export async function summarize(
  skill: PromptSkill,
  ctx: SkillContext,
  { history, maxTokens }: { history: string; maxTokens: number },
  parts: RunParts,
): Promise<string> {
  const fence = createFence()
  const instructions = `${fence.notice}\n\n${SUMMARIZE} At most ${Math.ceil(maxTokens / 2)} words.`
  const settings = { ...skill.settings, 'max-output-tokens': maxTokens }
  const prompt = { instructions, input: fence.wrap(history, 'history'), settings, tools: {} }
  await parts.budgets?.require(ctx.call)
  const accounting = accountingOf(ctx, parts)
  const run = { ...modelsOf(skill, ctx, parts), ...prompt, ...accounting }
  const { text, trace: _, files: __, ...usage } = await runModel(ctx, run)
  report(skill, ctx, { ...usage, ...defined({ money: accounting.paid() }) }, parts)
  return text
}

/** The models that a run may use, in order of preference. Throws `model_missing` if there is none. */
function modelsOf({ name, settings }: PromptSkill, { call }: SkillContext, parts: RunParts) {
  const sources = parts.sources()
  const named = settings.name ?? call.model
  const first = named ?? sources.model?.name
  if (!first) throw new TriviumError('model_missing', { name })
  // The configured fallback belongs to the configured model, not to a model named by the skill.
  const fallback = settings.fallback ?? (named === undefined ? sources.model?.fallback : []) ?? []
  return { models: [first, ...fallback], sources }
}

/** The options of a run that record it: the cost of each step before the next one, and traces. `paid`: the cost so far, if known. */
function accountingOf({ call }: SkillContext, { budgets, telemetry }: RunParts) {
  let paid: number | undefined
  const spend = async (used: Spent) => {
    const money = await budgets?.spend(call, used)
    if (money !== undefined) paid = Number(((paid ?? 0) + money).toFixed(9))
  }
  return { spend, telemetry, paid: () => paid }
}

function report({ name }: PromptSkill, { message }: SkillContext, usage: Cost, { onUsage }: RunParts): void {
  onUsage?.({ skill: name, ...defined({ messageId: message?.id }), ...usage })
}
