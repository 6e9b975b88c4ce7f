import { lazyFile } from './lazy.js'

/** All that the first view does not need. */
export const later = lazyFile(() => import('../later.js'))
