-- Only the operator class jsonb_ops supports these operators.
SELECT count(*) FILTER (WHERE review ? 'customer_id'), count(*) FILTER (WHERE review ?| ARRAY['refund', 'complaint'])
FROM reviews
WHERE review ?| ARRAY['refund', 'complaint'] OR review ? 'complaint';
