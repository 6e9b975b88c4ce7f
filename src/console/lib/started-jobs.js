import { signal } from '@preact/signals'

/** Number of jobs started by this page: increment it, so that lists of jobs are reloaded. */
export const startedJobs = signal(0)
