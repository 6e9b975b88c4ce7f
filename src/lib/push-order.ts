/** The health of a push, as `subscription-list` and the console have it. */
type Health = { ok?: unknown; state?: unknown; errors?: unknown }

/**
 * Push subscriptions: the failing ones first, then those whose attempts fail in part, then paused
 * ones. Others keep their order. The CLI and the console share this rule.
 */
export function worstPushFirst<Push extends Health>(pushes: readonly Push[]): Push[] {
  return pushes.toSorted((a, b) => severityOf(b) - severityOf(a))
}

function severityOf({ ok, state, errors }: Health): number {
  if (!ok) return 3
  if (errors !== undefined) return 2
  return state === 'active' ? 0 : 1
}
