/**
 * The skills behind buttons and approval words, and their routes, which have the same names. They
 * check each sender themselves, so that access rules do not apply to them.
 */
export const INTERNAL_SKILLS = ['approval-click', 'approval-words', 'handover-click'] as const

export type InternalSkill = (typeof INTERNAL_SKILLS)[number]

/**
 * Whether a name belongs to an internal skill and its route, so that no skill or route of a project
 * can have it.
 */
export function isInternalSkill(name: string): boolean {
  return INTERNAL_SKILLS.some((one) => one === name)
}
