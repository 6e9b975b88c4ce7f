import { mcpServerOf } from '../core/mcp.ts'
import type { Check } from '../core/transport.ts'
import type { SkillManager } from '../runtime/manager.ts'
import { prefixSkillsIn } from '../runtime/prefix-skills.ts'

/**
 * Checks for `trivium doctor`: broken skills, and words of `skills.json` that refer to unknown
 * skills.
 */
export function checkSkills(manager: Pick<SkillManager, 'errors' | 'list' | 'get'>): Check[] {
  const broken = manager.errors().map(({ name, path, reason, kept }): Check => {
    const inUse = kept ? '; its last good version is in use' : ''
    return { name: `skill ${name}`, ok: false, detail: `${path}: ${reason}${inUse}` }
  })
  const unresolved = prefixSkillsIn(manager)
    .filter(({ ref }) => !manager.get(ref) && mcpServerOf(ref) === undefined)
    .map(({ name, path = '', ref }): Check => {
      const detail = `${path}: there is no skill ${ref}, to which its ref points; the help answers instead`
      return { name: `word ${name}`, ok: true, warning: true, detail }
    })
  return [...broken, ...unresolved]
}
