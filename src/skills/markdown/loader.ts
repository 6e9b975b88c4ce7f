import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import type { Skill, SkillContext } from '../../core/skill.ts'
import type { FoundSkill } from '../discover.ts'
import { SKILL_NAME } from '../load-code.ts'
import { type ModelSources, resolveModel } from '../model/resolve-model.ts'
import { type ModelOutcome, modelSettings, runModel } from '../model/run-model.ts'
import { type Catalog, createTools, findSkillFiles } from '../model/tools.ts'
import { parseSettings } from '../onion.ts'
import { renderPrompt } from './render.ts'
import { compilePrompt, type Prompt, parseSkillFile } from './skill-file.ts'

/** What one run of a model cost. */
export type ModelUsage = Omit<ModelOutcome, 'text' | 'trace'> & {
  skill: string
  model: string
  messageId?: string
}

export type MarkdownOptions = {
  /** Where models are reached; asked for each run. */
  sources(): ModelSources
  /** Called after each run, for metrics and the message's history. */
  onUsage?(usage: ModelUsage): void
}

/** Makes the loader of `SKILL.md` for `createSkillManager`. */
export function createMarkdownLoader(
  options: MarkdownOptions,
): (found: FoundSkill, catalog: Catalog) => Promise<Skill> {
  return async (found, catalog) => {
    const file = parseSkillFile(await readFile(found.path, 'utf8'))
    const { name = found.name, description, metadata } = file
    if (!SKILL_NAME.test(name))
      throw new Error(`the name ${name} needs lower-case letters, digits and dashes`)
    if (name !== found.name) throw new Error(`its name is ${name}, but its folder is ${found.name}`)
    const prompt = compilePrompt(file.body, file.bodyLine)
    const files = await findSkillFiles(dirname(found.path))
    const settings = parseSettings(modelSettings, metadata.model ?? {})

    const run = async (ctx: SkillContext) => {
      const sources = options.sources()
      const modelId = settings.id ?? ctx.call.model ?? sources.model?.name
      if (!modelId) throw new TriviumError('model_missing', { name })
      const model = await resolveModel(modelId, sources)
      // A model that serves another model as a tool speaks to that one, not to whoever listens.
      const onText = ctx.call.toolDepth === undefined ? ctx.call.onText : undefined
      ctx.call = { ...ctx.call, toolDepth: ctx.call.depth + 1 }
      const outcome = await runModel({
        skill: name,
        modelId,
        model,
        settings,
        ...renderPrompt(prompt, ctx),
        tools: await createTools({ name, metadata, files }, ctx, catalog),
        signal: ctx.signal,
        log: ctx.log,
        ...(onText ? { onText } : {}),
      })
      const { text, trace, ...usage } = outcome
      ctx.locals.agent = { trace, ...usage }
      const messageId = ctx.message ? { messageId: ctx.message.id } : {}
      options.onUsage?.({ skill: name, model: modelId, ...usage, ...messageId })
      ctx.log.info({ model: modelId, ...usage }, 'a model answered')
      return text
    }
    return { name, description, args: argsOf(prompt), metadata, run }
  }
}

/** `text`, and what the prompt names; anything else may come too. */
function argsOf(prompt: Prompt): z.ZodType {
  const shape: Record<string, z.ZodType> = { text: z.string().optional().describe('What to work on') }
  for (const piece of prompt) {
    if (typeof piece === 'string' || piece.directive !== 'arg') continue
    const [first = '', ...rest] = piece.path.split('.')
    shape[first] ??= (rest.length > 0 ? z.looseObject({}) : z.json())
      .optional()
      .describe(`Put into the prompt at :arg[${piece.path}]`)
  }
  return z.looseObject(shape)
}
