import { type RefCallback, useEffect, useState } from 'react';

const LEAST = 360;

/** The height that is left below where the element begins, so that panes scroll and the page does not. */
export function useFill<T extends HTMLElement>(): [RefCallback<T>, number | undefined] {
  const [element, setElement] = useState<T | null>(null);
  const [height, setHeight] = useState<number>();
  useEffect(() => {
    if (!element) return undefined;
    const measure = () => {
      // The frame keeps room below the page: for its margin, and on a phone for the navigation.
      let below = 0;
      for (let around = element.parentElement; around; around = around.parentElement) {
        below += Number.parseFloat(getComputedStyle(around).paddingBottom) || 0;
      }
      setHeight(Math.max(LEAST, window.innerHeight - element.getBoundingClientRect().top - window.scrollY - below));
    };
    // The observer speaks once at the beginning, and whenever the frame around the page changes.
    const observer = new ResizeObserver(measure);
    observer.observe(document.documentElement);
    if (element.parentElement) observer.observe(element.parentElement);
    window.addEventListener('resize', measure);
    return () => {
      observer.disconnect();
      window.removeEventListener('resize', measure);
    };
  }, [element]);
  return [setElement, height];
}
