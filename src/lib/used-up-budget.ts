type Budget = Readonly<Record<string, unknown>>

/** A used-up budget. `until`: when it allows runs again (Unix ms). `of`: whose budget it is. */
export type UsedUp = { of: 'all' | 'skill'; limit: string; until: number }

/**
 * The used-up budget that keeps runs of a skill from beginning, of those in the status of a daemon:
 * its own, or that of all models if it is a prompt. Of several, the one that is used up for longest.
 */
function usedUpBudgetOf(
  budgets: readonly Budget[],
  { name, kind }: { name: unknown; kind?: unknown },
): UsedUp | undefined {
  const found = budgets.flatMap(({ budget, skill, limit, until }): UsedUp[] => {
    const isOwn = budget === 'skill' && skill === name
    if (typeof until !== 'number' || (!isOwn && (budget !== 'total' || kind !== 'markdown'))) return []
    return [{ of: isOwn ? 'skill' : 'all', limit: String(limit), until }]
  })
  return found.toSorted((a, b) => b.until - a.until)[0]
}

/** The used-up budgets of skills, each with its `skill`. */
export function usedUpBudgets(
  budgets: readonly Budget[],
  skills: readonly { name: string; kind?: unknown }[],
) {
  return skills.flatMap((skill) => {
    const usedUp = usedUpBudgetOf(budgets, skill)
    return usedUp ? [{ skill: skill.name, ...usedUp }] : []
  })
}
