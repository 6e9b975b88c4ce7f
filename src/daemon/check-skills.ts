import { mcpServerOf } from '../core/mcp.ts'
import type { Check } from '../core/transport.ts'
import type { SkillManager } from '../runtime/manager.ts'
import { wordsOf } from '../runtime/prefix-skills.ts'

/** For `trivium doctor`: broken skills, broken entries of `skills.json`, and words for unknown skills. */
export function checkSkills(manager: Pick<SkillManager, 'errors' | 'list' | 'get'>): Check[] {
  const broken = manager.errors().map(({ name, path, reason, kept }): Check => {
    const how = kept ? '; its last good version answers' : ''
    return { name: `skill ${name}`, ok: false, detail: `${path}: ${reason}${how}` }
  })
  const lost = wordsOf(manager)
    .filter(({ ref }) => !manager.get(ref) && mcpServerOf(ref) === undefined)
    .map(({ name, path = '', ref }): Check => {
      const detail = `${path}: its ref ${ref} names no skill; the help answers instead`
      return { name: `word ${name}`, ok: true, warning: true, detail }
    })
  return [...broken, ...lost]
}
