// Four colours carry meaning and nothing else uses them: blue a read, amber a write or something waiting, red refused or
// failed, green verified. Grey is everything else. Their values are in styles.css, for light and for dark.

import { Anchor, createTheme, defaultVariantColorsResolver, type MantineColorsTuple } from '@mantine/core';

const slate: MantineColorsTuple = [
  '#f6f7f9', '#e9ecf0', '#d3d8df', '#b4bcc8', '#8f9aab', '#6f7b8e', '#576273', '#434d5c', '#2d3541', '#1a2029',
];

/** As slate, with quieter lines: 3 is a line between things, 4 the edge of a field. */
const gray: MantineColorsTuple = [
  '#f6f7f9', '#eef0f3', '#e3e6eb', '#d9dde3', '#8792a3', '#6f7b8e', '#576273', '#434d5c', '#2d3541', '#1a2029',
];

/** The dark ground: text first, the page's own colour at 7. */
const dark: MantineColorsTuple = [
  '#dfe4ea', '#b9c2cd', '#98a3b1', '#6b7684', '#3d4651', '#303842', '#232a33', '#161b22', '#11151b', '#0c0f14',
];

export const theme = createTheme({
  primaryColor: 'slate',
  primaryShade: { light: 8, dark: 6 },
  autoContrast: true,
  // The contrast of the primary colour is not the same in light and dark; the default takes that of light for both.
  variantColorResolver: (input) => {
    const colors = defaultVariantColorsResolver(input);
    const primary = input.color === undefined || input.color === input.theme.primaryColor;
    return input.variant === 'filled' && primary ? { ...colors, color: 'var(--mantine-primary-color-contrast)' } : colors;
  },
  colors: { slate, gray, dark },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  defaultRadius: 'sm',
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  respectReducedMotion: true,
  cursorType: 'pointer',
  // A link is known by its line, not by a colour: colours mean something here.
  components: {
    Anchor: Anchor.extend({ defaultProps: { underline: 'always' } }),
    // A button with a cross has a name as well.
    Modal: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    // A menu has items and nothing else that takes the focus: it begins at the first.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
  },
});

/** What a thing means. Every tone has an icon and a word as well (see ui/Tone). */
export type Tone = 'read' | 'write' | 'waiting' | 'refused' | 'failed' | 'verified' | 'plain';
