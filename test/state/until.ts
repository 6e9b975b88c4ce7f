import { setTimeout as delay } from 'node:timers/promises'

/** Waits until `condition` holds, and fails after `timeout` ms. */
export async function until(condition: () => boolean | Promise<boolean>, timeout = 20_000): Promise<void> {
  const end = Date.now() + timeout
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited ${timeout} ms in vain for ${condition}`)
    await delay(5)
  }
}
