import type { z } from 'zod'
import type { RoutedSkill } from './gateways.ts'
import type { sections } from './sections.ts'

/** The section `assistant`, which may be `true` or `false`, as an object with `enabled`. */
export function assistantOf(section: z.infer<typeof sections.assistant>) {
  const defaults = { scope: 'person', timezone: 'UTC' } as const
  return typeof section === 'boolean' ? { enabled: section, ...defaults } : { enabled: true, ...section }
}

/**
 * The skills when the assistant is off: shipped skills that have words lose their metadata, and
 * with it their routes, so that no message reaches them. Skills of the project keep theirs.
 */
export function withoutAssistant(skills: readonly RoutedSkill[]): RoutedSkill[] {
  return skills.map((skill) =>
    skill.isShipped && skill.metadata?.prefixes !== undefined ? { ...skill, metadata: {} } : skill,
  )
}
