import { mcpServerOf } from '../core/mcp.ts'
import type { Check } from '../core/transport.ts'
import { didYouMean } from '../lib/nearest.ts'
import type { SkillManager } from '../runtime/manager.ts'
import { nounOf } from '../runtime/own-middleware.ts'
import { prefixSkillsIn } from '../runtime/prefix-skills.ts'
import { REPLACED } from '../runtime/replaced-skills.ts'

/**
 * Checks for `trivium doctor`: broken skills, skills in the place of built-in ones, words of
 * `skills.json` that refer to unknown skills, and budgets of unknown skills. `budgeted`: the skills
 * with a budget.
 */
export function checkSkills(
  manager: Pick<SkillManager, 'errors' | 'replaced' | 'list' | 'get'>,
  budgeted: readonly string[],
): Check[] {
  const broken = manager.errors().map(({ name, path, reason, kept }): Check => {
    const inUse = kept ? '; its last good version is in use' : ''
    return { name: `${nounOf(name)} ${name}`, ok: false, detail: `${path}: ${reason}${inUse}` }
  })
  const replaced = manager.replaced().map(({ name, path }): Check => {
    return { name: `skill ${name}`, ok: true, warning: true, detail: `${path}: ${REPLACED}` }
  })
  const unresolved = prefixSkillsIn(manager)
    .filter(({ ref }) => !manager.get(ref) && mcpServerOf(ref) === undefined)
    .map(({ name, path = '', ref }): Check => {
      const detail = `${path}: its \`ref\` names the skill ${ref}, which does not exist; the help answers instead`
      return { name: `word ${name}`, ok: true, warning: true, detail }
    })
  const names = manager.list().map(({ name }) => name)
  const unknown = budgeted
    .filter((name) => !manager.get(name) && mcpServerOf(name) === undefined)
    .map((name): Check => {
      const detail = `there is no skill ${name}, so \`model.budget.skill\` limits nothing.${didYouMean(name, names)}`
      return { name: `budget of ${name}`, ok: true, warning: true, detail }
    })
  return [...broken, ...replaced, ...unresolved, ...unknown]
}
