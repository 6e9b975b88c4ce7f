type Note = { readonly road?: unknown; readonly what?: unknown; readonly detail?: unknown }

/** A used-up budget that a message waits for. `until`: when runs may begin again (Unix ms). */
export type BudgetWait = { of: 'all' | 'skill' | 'sender'; until: number }

/** Whose budget a message waits for. */
export const BUDGETS = {
  all: 'the budget of all models',
  skill: 'its budget',
  sender: 'the budget of its sender',
}

/**
 * The budget that a message waits for, beside the pauses that hold it: that of its skill or of all
 * models (`usedUp`), else that of its sender, which only its history names.
 */
export function budgetWaitOf(
  usedUp: BudgetWait | undefined,
  history: readonly Note[],
  now: number,
): BudgetWait | undefined {
  if (usedUp) return { of: usedUp.of, until: usedUp.until }
  const refused = history.findLast(({ what }) => what === 'waits for its budget')?.detail
  const { of, until } = Object(Object(refused).budget)
  return of === 'sender' && until > now ? { of, until } : undefined
}

/** `its budget is free again at 22:00`, of a message that is named before. */
export function budgetFreeText({ of, until }: BudgetWait, time: (at: number) => string): string {
  return `${BUDGETS[of]} is free again at ${time(until)}`
}
