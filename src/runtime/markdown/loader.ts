import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import type { Skill } from '../../core/skill.ts'
import type { FoundSkill } from '../discover.ts'
import { SKILL_NAME } from '../load-code.ts'
import { modelSettings } from '../model/run-model.ts'
import { type Catalog, findSkillFiles } from '../model/tools.ts'
import { parseSettings } from '../parse-settings.ts'
import { type PromptSkill, type RunParts, runSkill, summarize } from './run-skill.ts'
import type { Prompt } from './skill-file.ts'

/** Makes the `SKILL.md` loader for `createSkillManager`. */
export function createMarkdownLoader(parts: RunParts) {
  return async (found: FoundSkill, catalog: Catalog): Promise<Skill> => {
    // Loaded on first use: the Markdown parser takes a fifteenth of the start time.
    const { compilePrompt, parseSkillFile } = await import('./skill-file.ts')
    const file = parseSkillFile(await readFile(found.path, 'utf8'))
    const { name = found.name, description, metadata } = file
    if (!SKILL_NAME.test(name))
      throw new Error(`the name ${name} needs lower-case letters, digits and dashes`)
    if (name !== found.name) throw new Error(`its name is ${name}, but its folder is ${found.name}`)
    const prompt = compilePrompt(file.body, file.bodyLine)
    const files = await findSkillFiles(dirname(found.path))
    const settings = parseSettings(modelSettings, metadata.model ?? {})
    const skill: PromptSkill = { name, prompt, settings, metadata, files, catalog }
    return {
      name,
      description,
      args: argsOf(prompt),
      // A model may call it again as a tool after a crash: it continues from its own record.
      metadata: { annotations: { idempotentHint: true }, ...metadata },
      run: (ctx) => runSkill(skill, ctx, parts),
      summarize: (ctx, history, maxTokens) => summarize(skill, ctx, { history, maxTokens }, parts),
    }
  }
}

/** The argument schema: `text`, and the names in the prompt. Other arguments are allowed. */
function argsOf(prompt: Prompt): z.ZodType {
  const shape: Record<string, z.ZodType> = { text: z.string().optional().describe('The text to work on') }
  for (const piece of prompt) {
    if (typeof piece === 'string' || piece.directive !== 'arg') continue
    const [first = '', ...rest] = piece.path.split('.')
    shape[first] ??= (rest.length > 0 ? z.looseObject({}) : z.json())
      .optional()
      .describe(`Inserted into the prompt at :arg[${piece.path}]`)
  }
  return z.looseObject(shape)
}
